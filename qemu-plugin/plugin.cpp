// SPDX-License-Identifier: GPL-2.0-or-later
// Where QEMU enters the tracer. QEMU is C: no exception leaves a callback; what cannot be recorded
// ends the machine instead.
#include "qemu-plugin/plugin.h"

#include <cstdio>
#include <exception>
#include <span>
#include <string_view>

#include <unistd.h>

#include "base/error.h"
#include "qemu-plugin/running_vcpu.h"
#include "qemu-plugin/tracer.h"

namespace fencepost::tracer {

namespace {

constexpr int kLowestLevel = 4;
constexpr int kHighestLevel = 6;

// QEMU's callbacks carry nothing that could hold it. Never destroyed: QEMU reports its exit after
// the destructors of this file have run.
Tracer *the_tracer = nullptr;
RunningVcpu *running = nullptr;
pid_t vcpu_thread = 0;

template <typename Work> void guarded(Work &&work) noexcept
{
    try {
        work();
    } catch (const std::exception &error) {
        give_up(error.what());
    }
}

void on_vcpu_start(qemu_plugin_id_t, unsigned vcpu) noexcept
{
    guarded([&] {
        if (vcpu_thread == 0)
            vcpu_thread = gettid();
        // The order of events would not be the order of memory.
        if (vcpu_thread != gettid())
            fail(ErrorKind::usage,
                 "vCPUs run in several threads; give QEMU -accel tcg,thread=single");
        running->add(vcpu);
        the_tracer->add_vcpu(vcpu);
    });
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb *block) noexcept
{
    guarded([&] { the_tracer->translate(running->index(0), block); });
}

void on_exit(qemu_plugin_id_t, void *) noexcept
{
    guarded([&] { the_tracer->finish(); });
}

void install(qemu_plugin_id_t id, const qemu_info_t &info, std::span<const char *const> arguments)
{
    if (info.version.cur < kLowestLevel || info.version.cur > kHighestLevel)
        fail(ErrorKind::usage, "this QEMU offers plugin level {}; levels {} to {} are known",
             info.version.cur, kLowestLevel, kHighestLevel);
    if (!info.system_emulation || std::string_view(info.target_name) != "x86_64")
        fail(ErrorKind::usage, "only whole x86_64 machines can be recorded, not {}",
             info.target_name);
    the_tracer = new Tracer(parse_options(arguments));
    running = new RunningVcpu;
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_start);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

} // namespace

namespace callback {

namespace {

CodePoint &code_at(void *point)
{
    return the_tracer->at(*static_cast<const BlockPoint *>(point));
}

} // namespace

void block(unsigned, void *instructions) noexcept
{
    the_tracer->block(reinterpret_cast<std::size_t>(instructions));
}

void store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept
{
    the_tracer->store(running->index(vcpu), info, address, code_at(code));
}

void locked_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                  void *code) noexcept
{
    the_tracer->locked_store(running->index(vcpu), info, address, code_at(code));
}

void load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept
{
    the_tracer->load(running->index(vcpu), info, address, code_at(code));
}

void flush(unsigned vcpu, void *code) noexcept
{
    the_tracer->flush(running->index(vcpu), code_at(code));
}

void fence(unsigned vcpu, void *code) noexcept
{
    the_tracer->fence(running->index(vcpu), code_at(code));
}

void marker(unsigned vcpu, void *code) noexcept
{
    the_tracer->marker(running->index(vcpu), code_at(code));
}

void system_call(unsigned vcpu, void *code) noexcept
{
    the_tracer->system_call(running->index(vcpu), code_at(code));
}

void return_from_kernel(unsigned vcpu, void *code) noexcept
{
    the_tracer->return_from_kernel(running->index(vcpu), code_at(code));
}

void call(unsigned vcpu, qemu_plugin_meminfo_t, std::uint64_t address, void *code) noexcept
{
    the_tracer->call(running->index(vcpu), address, code_at(code));
}

void ret(unsigned vcpu, qemu_plugin_meminfo_t, std::uint64_t address, void *code) noexcept
{
    the_tracer->ret(running->index(vcpu), address, code_at(code));
}

void stack_pointer_load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t,
                        void *code) noexcept
{
    the_tracer->stack_pointer_load(running->index(vcpu), info, code_at(code));
}

void stack_pointer_move(unsigned vcpu, void *code) noexcept
{
    the_tracer->stack_pointer_move(running->index(vcpu), code_at(code));
}

void translation_change(unsigned vcpu, void *code) noexcept
{
    the_tracer->translation_change(running->index(vcpu), code_at(code));
}

void undecodable(unsigned vcpu, void *code) noexcept
{
    the_tracer->undecodable(running->index(vcpu), code_at(code));
}

} // namespace callback

} // namespace fencepost::tracer

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = fencepost::tracer::kLowestLevel;

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    try {
        fencepost::tracer::install(id, *info, {argv, static_cast<std::size_t>(argc)});
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "fencepost-tracer: %s\n", error.what());
        return 1;
    }
}

} // extern "C"
