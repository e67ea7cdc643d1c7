// SPDX-License-Identifier: GPL-2.0-or-later
// The tracer: what it asks QEMU to be told, and what it makes of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "qemu-plugin/absent_flushes.h"
#include "qemu-plugin/call_stacks.h"
#include "qemu-plugin/code_map.h"
#include "qemu-plugin/event_queue.h"
#include "qemu-plugin/guest_state.h"
#include "qemu-plugin/late_lines.h"
#include "qemu-plugin/options.h"
#include "qemu-plugin/physical_memory.h"
#include "qemu-plugin/process.h"
#include "qemu-plugin/qemu_plugin_api.h"
#include "qemu-plugin/system_calls.h"
#include "qemu-plugin/translation_cache.h"
#include "trace/records.h"

namespace fencepost::tracer {

struct Vcpu {
    TranslationCache translations;
    PagingState paging;         // cr3 = 0: not known yet
    Process *process = nullptr; // that runs there; null = to be looked up
    CallStacks::Cursor stacks;
};

// How far the recording can be trusted; stored as data_quality.
struct Quality {
    std::uint64_t undecodable_instructions = 0;
    std::uint64_t untranslated_flushes = 0;
    std::uint64_t untranslated_stores = 0;
    std::uint64_t unknown_processes = 0;
    std::uint64_t malformed_markers = 0;
};

// All vCPUs run in one thread of QEMU, and that thread makes every call but the constructor's and
// finish().
class Tracer {
public:
    explicit Tracer(const Options &options);

    void add_vcpu(unsigned vcpu);
    // `vcpu`: the one that needs the block.
    void translate(unsigned vcpu, qemu_plugin_tb *block);
    void finish();
    // With several vCPUs, when a block of so many instructions begins.
    void block(std::size_t instructions) { executed_ += instructions; }
    // Before each of the following: the instruction is that of `point`.
    CodePoint &at(const BlockPoint &point)
    {
        left_in_block_ = point.left;
        return *point.code;
    }

    // What executed code reports, in trace order.
    void store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, CodePoint &code);
    void locked_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                      CodePoint &code);
    void load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, CodePoint &code);
    void flush(unsigned vcpu, CodePoint &code);
    void fence(unsigned vcpu, CodePoint &code);
    void marker(unsigned vcpu, CodePoint &code);
    void system_call(unsigned vcpu, CodePoint &code);
    void return_from_kernel(unsigned vcpu, CodePoint &code);
    void call(unsigned vcpu, std::uint64_t slot, CodePoint &code);
    void ret(unsigned vcpu, std::uint64_t slot, CodePoint &code);
    void stack_pointer_move(unsigned vcpu, CodePoint &code);
    void stack_pointer_load(unsigned vcpu, qemu_plugin_meminfo_t info, CodePoint &code);
    void translation_change(unsigned vcpu, CodePoint &code);
    void undecodable(unsigned vcpu, CodePoint &code);

private:
    std::uint64_t frame_of(Vcpu &cpu, qemu_plugin_meminfo_t info, std::uint64_t address);
    std::uint64_t find_frame(Vcpu &cpu, qemu_plugin_meminfo_t info, std::uint64_t address);
    std::uint64_t walk_to_frame(Vcpu &cpu, std::uint64_t address);
    std::uint64_t frame_elsewhere(Vcpu &cpu, std::uint64_t address);
    std::uint64_t frame_at(std::uint64_t physical) const;
    void resolve_absent(const Vcpu &cpu, std::uint64_t address, std::uint64_t frame);
    void look_for(Vcpu &cpu, const std::vector<std::uint64_t> &pages);
    void look_for_absent(Vcpu &cpu);
    void look_for_faulted(Vcpu &cpu);
    void leave_absent(Vcpu &cpu, const SystemCallEntry &entry);
    // Only where registers can be read.
    void learn_paging(Vcpu &cpu);
    void locate_range(Vcpu &cpu, trace::Marker &marker);
    bool is_pm(std::uint64_t physical) const;
    void record_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                      std::uint64_t frame, CodePoint &code);
    void record_split_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                            CodePoint &code);
    // `bytes`: as many as were stored.
    void keep_store(unsigned vcpu, CodePoint &code, std::uint64_t physical, unsigned size,
                    const void *bytes);
    void record_fence(unsigned vcpu, CodePoint &code, trace::FenceKind kind);
    trace::Event new_event(unsigned vcpu, CodePoint &code);
    void push(const trace::Event &event);
    void pushed();
    std::uint64_t time() const;
    void note_system_call(unsigned vcpu, CodePoint &code);
    void note_return(Vcpu &cpu, const ReturnToUser &back);
    void push_marker(unsigned vcpu, CodePoint &code, trace::MarkerKind kind, trace::Marker marker);
    void push_markers(unsigned vcpu, CodePoint &code, const std::vector<NewMarker> &markers);
    std::uint64_t address_space_of(const Vcpu &cpu) const;
    Process &process_of(Vcpu &cpu);
    void push_lost_flushes();
    void count_quality(trace::TraceWriter &writer) const;
    bool matters(const Instruction &what) const;
    void instrument(qemu_plugin_insn *instruction, std::uint32_t left);
    void instrument_stacks(qemu_plugin_insn *instruction, BlockPoint &point);

    const Options options_;
    std::vector<trace::Region> regions_; // before queue_, whose trace they come from
    EventQueue queue_;
    std::vector<std::unique_ptr<Vcpu>> vcpus_;
    GuestState guest_;
    PhysicalMemory physical_;
    Decoder decoder_;
    CodeMap code_;
    Processes processes_;
    SystemCalls system_calls_;
    Sites sites_;
    CallStacks stacks_;
    AbsentFlushes absent_;
    LateLines late_;
    Quality quality_;
    // How many instructions the machine had executed when the current block ends: where there is
    // one vCPU, QEMU counts without calling us.
    qemu_plugin_scoreboard *scoreboard_;
    const std::uint64_t *executed_inline_ = nullptr;
    std::uint64_t executed_ = 0;
    std::uint32_t left_in_block_ = 0;
    std::uint32_t thread_ = 0; // of the last event
    bool recording_;
    bool workload_ended_ = false; // nothing is recorded any more, but stores to PM are still kept
};

} // namespace fencepost::tracer
