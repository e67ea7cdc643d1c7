// SPDX-License-Identifier: GPL-2.0-or-later
// See call_stacks.h.
#include "qemu-plugin/call_stacks.h"

#include <xxhash.h>

namespace fencepost::tracer {

namespace {

// Linux's kernel stacks are 16 KiB, aligned; what shares such a piece takes turns properly nested.
constexpr unsigned kKernelStackShift = 14;
constexpr std::size_t kUsualDepth = 64;

void drop_up_to(CallStacks::Shadow &shadow, std::uint64_t slot)
{
    while (!shadow.calls.empty() && shadow.calls.back().slot <= slot)
        shadow.calls.pop_back();
}

} // namespace

std::size_t CallStacks::ThreadHash::operator()(const UserThread &thread) const
{
    return XXH3_64bits(&thread, sizeof thread);
}

std::size_t CallStacks::FrameHash::operator()(const FrameKey &key) const
{
    return XXH3_64bits(&key, sizeof key);
}

CallStacks::Shadow *CallStacks::shadow_of(Cursor &at, std::uint64_t address, bool user)
{
    if (user)
        return at.user;
    const std::uint64_t stack = address >> kKernelStackShift;
    if (at.kernel_stack != stack || !at.kernel) [[unlikely]] {
        at.kernel_stack = stack;
        at.kernel = &kernel_[stack];
        at.kernel->calls.reserve(kUsualDepth);
    }
    return at.kernel;
}

void CallStacks::call(Cursor &at, std::uint64_t slot, CodePoint &caller)
{
    Shadow *shadow = shadow_of(at, slot, caller.user);
    if (!shadow)
        return;
    if (at.system_call && !caller.user) [[unlikely]] {
        shadow->calls.clear();
        shadow->base = at.system_call;
        shadow->entered_from = at.user;
        at.system_call = 0;
    }
    drop_up_to(*shadow, slot);
    shadow->calls.push_back({slot, &caller, 0});
}

void CallStacks::ret(Cursor &at, std::uint64_t slot, bool user)
{
    if (Shadow *shadow = shadow_of(at, slot, user))
        drop_up_to(*shadow, slot);
}

void CallStacks::set_stack_pointer(Cursor &at, std::uint64_t value, bool user)
{
    if (user == is_kernel_address(value))
        return;
    if (Shadow *shadow = shadow_of(at, value, user))
        drop_up_to(*shadow, value - 1);
}

void CallStacks::enter_kernel(Cursor &at, CodePoint &code, const Process &process)
{
    const trace::StackId below = at.user ? number(*at.user, process) : 0;
    at.system_call = number(below, frame_of(code, process));
}

void CallStacks::enter_user(Cursor &at, const UserThread &thread, std::uint64_t stack_pointer)
{
    at.system_call = 0;
    if (at.kernel) {
        at.kernel->calls.clear();
        at.kernel->base = 0;
    }
    if (!at.user || at.thread != thread) {
        // A program sets up its thread-local storage once, and is still the same thread.
        const auto nameless = user_.find({thread.address_space, 0});
        if (nameless != user_.end() && thread.fs_base != 0 && !user_.contains(thread)) {
            auto node = user_.extract(nameless);
            node.key() = thread;
            user_.insert(std::move(node));
        }
        at.thread = thread;
        at.user = &user_[thread];
    }
    // Another one, with the page tables of one that has ended.
    if (at.user->ended) [[unlikely]] {
        at.user->ended = false;
        at.user->thread = 0;
    }
    drop_up_to(*at.user, stack_pointer - 1);
}

void CallStacks::end_thread(Cursor &at)
{
    if (!at.user)
        return;
    at.user->calls.clear();
    at.user->ended = true;
}

void CallStacks::end_process(std::uint64_t address_space)
{
    // Emptied, not erased: the cursors of other vCPUs may point there.
    for (auto &[thread, shadow] : user_)
        if (thread.address_space == address_space) {
            shadow.calls.clear();
            shadow.ended = true;
        }
}

trace::StackId CallStacks::current(Cursor &at, const CodePoint &code, const Process &process)
{
    Shadow *shadow = code.user ? at.user : at.kernel;
    return shadow ? number(*shadow, process) : 0;
}

std::uint32_t CallStacks::thread(const Cursor &at, bool user)
{
    Shadow *its = at.user;
    if (!user && !at.system_call) // entered, and no call made yet: it is the user's
        its = at.kernel && at.kernel->base ? at.kernel->entered_from : nullptr;
    if (!its)
        return 0;
    if (its->thread == 0)
        its->thread = ++threads_;
    return its->thread;
}

trace::StackId CallStacks::number(Shadow &shadow, const Process &process)
{
    std::size_t known = shadow.calls.size();
    while (known > 0 && shadow.calls[known - 1].node == 0)
        --known;
    trace::StackId node = known > 0 ? shadow.calls[known - 1].node : shadow.base;
    for (; known < shadow.calls.size(); ++known) {
        Call &call = shadow.calls[known];
        node = call.node = number(node, frame_of(*call.caller, process));
    }
    return node;
}

trace::StackId CallStacks::number(trace::StackId parent, std::uint32_t frame)
{
    trace::StackId &node = nodes_[std::uint64_t{parent} << 32 | frame];
    if (node == 0) {
        node = static_cast<trace::StackId>(nodes_.size());
        queue_.current().stacks.push_back({node, parent, frame});
    }
    return node;
}

std::uint32_t CallStacks::frame_of(const CodePoint &code, const Process &process)
{
    std::uint32_t &frame = frames_[{&code, &process}];
    if (frame == 0) {
        frame = static_cast<std::uint32_t>(frames_.size());
        trace::StackFrame row;
        row.id = frame;
        row.pc = code.pc;
        row.privilege = code.user ? trace::Privilege::user : trace::Privilege::kernel;
        row.address_space = code.user ? process.address_space : 0;
        row.module = process.module_at(code.pc);
        queue_.current().stack_frames.push_back(std::move(row));
    }
    return frame;
}

} // namespace fencepost::tracer
