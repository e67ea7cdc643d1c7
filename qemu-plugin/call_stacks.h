// SPDX-License-Identifier: GPL-2.0-or-later
// Who called the code that causes events: shadow stacks kept from calls and returns, one for every
// kernel stack and user thread. No frame pointers and no debug information are needed.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "qemu-plugin/code_map.h"

namespace fencepost::tracer {

// What identifies a user thread: its page tables and its thread-local storage.
struct UserThread {
    std::uint64_t address_space = 0;
    std::uint64_t fs_base = 0;
    bool operator==(const UserThread &) const = default;
};

// A call is known by its slot, the address that its return address is pushed to. Stacks grow down,
// so a call or return at a slot says that everything at and below that slot is over: calls that
// never return (longjmp, a killed task) do no harm.
class CallStacks {
public:
    explicit CallStacks(EventQueue &queue) : queue_(queue) {}

    struct Call {
        std::uint64_t slot = 0;
        CodePoint *caller = nullptr;
        trace::StackId node = 0; // the stack up to here; 0 = not numbered yet
    };
    struct Shadow {
        std::vector<Call> calls;        // outermost first
        trace::StackId base = 0;        // what they continue: the user's stack below a system call
        Shadow *entered_from = nullptr; // whose system call that is
        std::uint32_t thread = 0;       // number of a user thread; 0 = not numbered yet
        bool ended = false;             // by its own system call
    };
    // Where one vCPU is.
    struct Cursor {
        Shadow *kernel = nullptr;
        std::uint64_t kernel_stack = 0; // which one
        trace::StackId system_call = 0; // entered, and no call made yet
        Shadow *user = nullptr;
        UserThread thread;
    };

    void call(Cursor &at, std::uint64_t slot, CodePoint &caller);
    void ret(Cursor &at, std::uint64_t slot, bool user);
    // The stack pointer was set to something else than calls and returns would have made of it.
    void set_stack_pointer(Cursor &at, std::uint64_t value, bool user);
    // `code` is the `syscall` instruction: the kernel's calls continue the user's.
    void enter_kernel(Cursor &at, CodePoint &code, const Process &process);
    void enter_user(Cursor &at, const UserThread &thread, std::uint64_t stack_pointer);
    // A program or a thread that will not go on.
    void end_thread(Cursor &at);
    void end_process(std::uint64_t address_space);

    trace::StackId current(Cursor &at, const CodePoint &code, const Process &process);
    // The user thread that runs, or whose system call is executed; 0 = neither.
    std::uint32_t thread(const Cursor &at, bool user);

private:
    struct ThreadHash {
        std::size_t operator()(const UserThread &thread) const;
    };
    struct FrameKey {
        const CodePoint *code;
        const Process *process;
        bool operator==(const FrameKey &) const = default;
    };
    struct FrameHash {
        std::size_t operator()(const FrameKey &key) const;
    };

    Shadow *shadow_of(Cursor &at, std::uint64_t address, bool user);
    trace::StackId number(Shadow &shadow, const Process &process);
    trace::StackId number(trace::StackId parent, std::uint32_t frame);
    std::uint32_t frame_of(const CodePoint &code, const Process &process);

    EventQueue &queue_;
    std::uint32_t threads_ = 0;
    std::unordered_map<std::uint64_t, Shadow> kernel_; // by number of the kernel stack
    std::unordered_map<UserThread, Shadow, ThreadHash> user_;
    std::unordered_map<FrameKey, std::uint32_t, FrameHash> frames_;
    std::unordered_map<std::uint64_t, trace::StackId> nodes_; // by parent and frame
};

} // namespace fencepost::tracer
