// SPDX-License-Identifier: GPL-2.0-or-later
// See event_queue.h.
#include "qemu-plugin/event_queue.h"

#include <csignal>
#include <cstdio>
#include <exception>

#include <unistd.h>

namespace fencepost::tracer {

namespace {

constexpr int kFailureStatus = 4;
constexpr std::size_t kWideBytes = 16; // of the widest store that QEMU reports

} // namespace

Batch::Batch()
{
    // So that no store ever waits for memory: as many wide stores as fit, then forgotten again.
    const std::byte zeros[kWideBytes] = {};
    trace::Event wide;
    wide.size = kWideBytes;
    while (!events.full())
        events.push_store(wide, zeros);
    events.clear();
    moments.reserve(kEvents);
}

void Batch::clear()
{
    events.clear();
    moments.clear();
    sites.clear();
    stack_frames.clear();
    stacks.clear();
}

EventQueue::EventQueue(trace::TraceWriter writer)
    : writer_(std::move(writer)), current_(std::make_unique<Batch>())
{
    for (std::size_t i = 1; i < kBatches; ++i)
        empty_.push_back(std::make_unique<Batch>());
    full_.reserve(kBatches);
    // Signals are QEMU's; its own threads handle them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EventQueue::~EventQueue()
{
    if (thread_.joinable())
        finish();
}

void EventQueue::hand_over()
{
    std::unique_lock lock(mutex_);
    full_.push_back(std::move(current_));
    changed_.notify_all();
    changed_.wait(lock, [&] { return !empty_.empty(); });
    current_ = std::move(empty_.back());
    empty_.pop_back();
}

trace::TraceWriter &EventQueue::finish()
{
    {
        const std::lock_guard lock(mutex_);
        full_.push_back(std::move(current_));
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
    current_ = std::make_unique<Batch>();
    return writer_;
}

void EventQueue::run() noexcept
{
    try {
        for (;;) {
            std::unique_ptr<Batch> batch;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return !full_.empty() || ending_; });
                if (full_.empty())
                    return;
                batch = std::move(full_.front());
                full_.erase(full_.begin());
            }
            write(*batch);
            batch->clear();
            {
                const std::lock_guard lock(mutex_);
                empty_.push_back(std::move(batch));
                changed_.notify_all();
            }
        }
    } catch (const std::exception &error) {
        give_up(error.what());
    }
}

void EventQueue::write(Batch &batch)
{
    for (trace::Site &site : batch.sites) {
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(site.instruction.data());
        site.disassembly = decoder_.disassemble({bytes, site.instruction.size()}, site.pc);
        writer_.put_site(site);
    }
    for (const trace::StackFrame &frame : batch.stack_frames)
        writer_.put_stack_frame(frame);
    for (const trace::Stack &stack : batch.stacks)
        writer_.put_stack(stack);
    writer_.append(batch.events, batch.moments);
}

void give_up(const char *message) noexcept
{
    std::fprintf(stderr, "fencepost-tracer: %s\n", message);
    std::fflush(stderr);
    _exit(kFailureStatus);
}

} // namespace fencepost::tracer
