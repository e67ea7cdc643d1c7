// SPDX-License-Identifier: GPL-2.0-or-later
// Events on their way to the trace file: filled by the thread that runs the vCPUs, written by
// another.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "qemu-plugin/instruction.h"
#include "trace/writer.h"

namespace fencepost::tracer {

// Events, and the rows that they are the first to name.
struct Batch {
    static constexpr std::size_t kEvents = 8192;

    Batch();
    void clear();

    trace::EventBuffer events{kEvents};
    std::vector<trace::EventMoment> moments; // of each event
    std::vector<trace::Site> sites; // without disassembly: the writer's thread has the time for it
    std::vector<trace::StackFrame> stack_frames;
    std::vector<trace::Stack> stacks;
};

// All vCPUs run in one thread, so there is one sequence of batches and its order is memory order.
// When the writer falls behind, the vCPUs wait for it: nothing is dropped.
class EventQueue {
public:
    explicit EventQueue(trace::TraceWriter writer);
    ~EventQueue();

    Batch &current() { return *current_; }
    // Gives the current batch to the writer and takes an empty one.
    void hand_over();
    // Writes what is left and ends the thread; the writer is then the caller's.
    trace::TraceWriter &finish();

private:
    // Enough to go on with while the writer waits for a processor.
    static constexpr std::size_t kBatches = 64;

    void run() noexcept;
    void write(Batch &batch);

    trace::TraceWriter writer_;
    Decoder decoder_; // for the writer's thread, and made before it
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<Batch>> empty_;
    std::vector<std::unique_ptr<Batch>> full_; // oldest first
    bool ending_ = false;
    std::unique_ptr<Batch> current_;
    std::thread thread_;
};

// Says on stderr what went wrong and ends QEMU at once: a machine that goes on without its recorder
// would look recorded. The trace file stays unfinished.
[[noreturn]] void give_up(const char *message) noexcept;

} // namespace fencepost::tracer
