// SPDX-License-Identifier: GPL-2.0-or-later
// See tracer.h. Here: start, translation and end; what happens while the guest runs is in
// capture.cpp, flushes.cpp and operations.cpp.
#include "qemu-plugin/tracer.h"

#include "base/error.h"
#include "qemu-plugin/plugin.h"
#include "trace/reader.h"

namespace fencepost::tracer {

namespace {

trace::TraceWriter open_trace(const Options &options, std::vector<trace::Region> &regions)
{
    regions = trace::TraceReader(options.trace).regions();
    if (regions.empty())
        fail(ErrorKind::trace, "{} names no PM region, so there is nothing to record",
             options.trace);
    return trace::TraceWriter::open_prepared(options.trace);
}

} // namespace

Tracer::Tracer(const Options &options)
    : options_(options), queue_(open_trace(options, regions_)), physical_(guest_),
      system_calls_(guest_, processes_), sites_(queue_), stacks_(queue_),
      scoreboard_(qemu_plugin_scoreboard_new(sizeof(std::uint64_t))), recording_(options.recording)
{
}

void Tracer::add_vcpu(unsigned vcpu)
{
    guest_.find_registers();
    if (vcpus_.size() <= vcpu)
        vcpus_.resize(vcpu + 1);
    vcpus_[vcpu] = std::make_unique<Vcpu>();
    executed_inline_ =
        static_cast<const std::uint64_t *>(qemu_plugin_scoreboard_find(scoreboard_, 0));
}

void Tracer::translate(unsigned vcpu, qemu_plugin_tb *block)
{
    // Before anything of the block runs: its stores are told where registers cannot be read.
    if (vcpu < vcpus_.size() && vcpus_[vcpu])
        learn_paging(*vcpus_[vcpu]);
    const std::size_t count = qemu_plugin_tb_n_insns(block);
    // With several vCPUs, code of QEMU 10.0 that has such an operation in it does something else
    // than it should: guests hang.
    if (vcpus_.size() == 1)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64,
                                                          {scoreboard_, 0}, count);
    else
        qemu_plugin_register_vcpu_tb_exec_cb(block, callback::block, QEMU_PLUGIN_CB_NO_REGS,
                                             reinterpret_cast<void *>(count));
    for (std::size_t i = 0; i < count; ++i)
        instrument(qemu_plugin_tb_get_insn(block, i), static_cast<std::uint32_t>(count - i));
}

// Most instructions do nothing that is recorded.
bool Tracer::matters(const Instruction &what) const
{
    if (!what.decoded || what.writes_memory || what.flush || what.fence || what.marker ||
        what.changes_translation)
        return true;
    const bool stack_pointer = what.loads_stack_pointer || what.stack_pointer_source != kNoRegister;
    if (options_.stacks && (stack_pointer || what.transfer != Transfer::none))
        return true;
    return (options_.loads && what.reads_memory) || what.transfer == Transfer::syscall ||
           what.transfer == Transfer::sysret;
}

void Tracer::instrument(qemu_plugin_insn *instruction, std::uint32_t left)
{
    std::array<std::uint8_t, kMaxInstructionBytes> bytes;
    const std::size_t length = qemu_plugin_insn_data(instruction, bytes.data(), bytes.size());
    const Instruction what = decoder_.decode(std::span(bytes).first(length));
    if (!matters(what))
        return;
    CodePoint &code =
        code_.at(qemu_plugin_insn_vaddr(instruction), std::span(bytes).first(length), what);
    BlockPoint &point = code.in_block(left);
    auto on_execution = [&](qemu_plugin_vcpu_udata_cb_t callback, qemu_plugin_cb_flags flags) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, flags, &point);
    };
    auto on_access = [&](qemu_plugin_vcpu_mem_cb_t callback, qemu_plugin_mem_rw access) {
        qemu_plugin_register_vcpu_mem_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS, access,
                                         &point);
    };

    if (!what.decoded) {
        on_execution(callback::undecodable, QEMU_PLUGIN_CB_NO_REGS);
        on_access(callback::store, QEMU_PLUGIN_MEM_W);
        return;
    }
    if (options_.loads && what.reads_memory)
        on_access(callback::load, QEMU_PLUGIN_MEM_R);
    if (what.locked && what.writes_memory)
        on_access(callback::locked_store, QEMU_PLUGIN_MEM_W);
    else if (what.writes_memory)
        on_access(callback::store, QEMU_PLUGIN_MEM_W);
    if (what.privileged && code.user)
        return;
    if (what.flush)
        on_execution(callback::flush, QEMU_PLUGIN_CB_R_REGS);
    // Of a locked instruction that cannot touch PM, the fence is all that is left.
    if (what.fence && !(what.locked && what.writes_memory))
        on_execution(callback::fence, QEMU_PLUGIN_CB_NO_REGS);
    if (what.changes_translation)
        on_execution(callback::translation_change, QEMU_PLUGIN_CB_R_REGS);
    if (what.marker)
        on_execution(callback::marker, QEMU_PLUGIN_CB_R_REGS);
    if (what.transfer == Transfer::syscall && code.user)
        on_execution(callback::system_call, QEMU_PLUGIN_CB_R_REGS);
    if (options_.stacks)
        instrument_stacks(instruction, point);
    if ((what.transfer == Transfer::sysret || what.transfer == Transfer::iret) && !code.user)
        on_execution(callback::return_from_kernel, QEMU_PLUGIN_CB_R_REGS);
}

void Tracer::instrument_stacks(qemu_plugin_insn *instruction, BlockPoint &point)
{
    const Instruction &what = point.code->what;
    auto on_access = [&](qemu_plugin_vcpu_mem_cb_t callback, qemu_plugin_mem_rw access) {
        qemu_plugin_register_vcpu_mem_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS, access,
                                         &point);
    };
    if (what.transfer == Transfer::call)
        on_access(callback::call, QEMU_PLUGIN_MEM_W);
    if (what.transfer == Transfer::ret)
        on_access(callback::ret, QEMU_PLUGIN_MEM_R);
    if (what.loads_stack_pointer)
        on_access(callback::stack_pointer_load, QEMU_PLUGIN_MEM_R);
    if (what.stack_pointer_source != kNoRegister)
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback::stack_pointer_move,
                                               QEMU_PLUGIN_CB_R_REGS, &point);
}

void Tracer::count_quality(trace::TraceWriter &writer) const
{
    using trace::QualityLevel;
    auto count = [&](std::string_view name, std::uint64_t value, QualityLevel severity,
                     const char *meaning) {
        writer.put_data_quality(
            {std::string(name), static_cast<std::int64_t>(value), severity, meaning});
    };
    count("undecodable_instructions", quality_.undecodable_instructions, QualityLevel::warning,
          "Instructions were executed that the tracer cannot decode; their stores are recorded, "
          "but not whether "
          "they are non-temporal, flush or fence.");
    count("untranslated_stores", quality_.untranslated_stores, QualityLevel::error,
          "Stores were executed whose physical address could not be found; they are missing if "
          "they were to PM.");
    count("untranslated_flushes", quality_.untranslated_flushes, QualityLevel::error,
          "Flushes were executed whose physical address could not be found; they are missing if "
          "they were of PM.");
    count("unread_registers", guest_.failed_reads() + quality_.unknown_processes,
          QualityLevel::error,
          "QEMU did not give a register that decides what an event is, or whose it is.");
    const AbsentFlushCounts absent = absent_.counts();
    count("flushes_of_absent_pages", absent.found + absent.in_volatile_memory + absent.lost,
          QualityLevel::info,
          "Flushes were executed through a mapping whose page nobody had touched; hardware maps "
          "the page first.");
    count(trace::kLostFlushes, absent.lost, QualityLevel::warning,
          "Flushes could not be attributed to lines of PM and are left out: nobody touched their "
          "page through that mapping, or not before the line was stored to. What they flush counts "
          "as in flight: a finding about it may be wrong.");
    count("malformed_markers", quality_.malformed_markers, QualityLevel::warning,
          "Marker instructions were executed with a payload that says nothing known; they are left "
          "out.");
}

// For whoever wants to know which code that was.
void Tracer::push_lost_flushes()
{
    for (const auto &[site, flushes] : absent_.lost()) {
        trace::Event event = flushes.last;
        event.kind = trace::EventKind::marker;
        event.subkind = static_cast<std::uint8_t>(trace::MarkerKind::note);
        event.flags = 0;
        trace::EventBuffer &events = queue_.current().events;
        events.push_marker(event, {.number = static_cast<std::int64_t>(flushes.flushes),
                                   .text = std::string(trace::kLostFlushesNote)});
        pushed();
    }
}

void Tracer::finish()
{
    push_lost_flushes();
    trace::TraceWriter &writer = queue_.finish();
    for (const auto &[site, count] : sites_.volatile_flushes())
        writer.put_volatile_flushes(site, count);
    for (const auto &[line, late] : late_.lines())
        writer.put_late_line(late);
    count_quality(writer);
    writer.finish(trace::RecordingState::complete, "");
}

} // namespace fencepost::tracer
