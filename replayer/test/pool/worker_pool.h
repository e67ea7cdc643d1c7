// SPDX-License-Identifier: GPL-2.0-or-later
// Several workers, each with a thread of its own, fed from one queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "replayer/test/pool/worker.h"

namespace fencepost::test {

class WorkerPool {
public:
    // `plan` and what it names outlive the pool.
    WorkerPool(const WorkerPlan &plan, unsigned jobs,
               const std::shared_ptr<const image::ImageStep> &first);
    ~WorkerPool();

    // Waits while the queue is full. Throws what stopped a worker. Images in the order in which
    // they were taken.
    void submit(Assignment assignment);
    // About an outcome that was handed out. Does not wait, and comes before what is queued.
    void ask(Question question);
    struct Finished {
        std::vector<Outcome> outcomes;
        std::vector<Answer> answers;

        bool empty() const { return outcomes.empty() && answers.empty(); }
    };
    // Since the last call, in no particular order. What a worker found out is only handed out after
    // an audit said that its PM was in order.
    Finished take_finished();
    // Waits until there is something to take, for at most this long.
    void wait_finished(std::chrono::milliseconds span);
    // Nothing more will be submitted; everything that was is finished and taken when `done()`,
    // which throws what stopped a worker instead.
    void close();
    bool done();
    // Drops what is queued and ends the workers, which hand out what they have finished.
    void stop();

    WorkerCounts counts();

private:
    void work(unsigned number, std::shared_ptr<const image::ImageStep> first);
    using Job = std::variant<Assignment, Question>;

    void serve(Worker &worker, Finished &unaudited);
    void work_on(Job job, Worker &worker, Finished &unaudited);
    void release(Worker &worker, Finished &unaudited);
    bool is_stopping();
    void rethrow();

    const WorkerPlan &plan_;
    std::mutex mutex_;
    std::condition_variable for_workers_;
    std::condition_variable for_caller_;
    std::deque<Job> queue_;
    std::size_t queue_limit_;
    bool closed_ = false;
    bool stopping_ = false;
    unsigned working_ = 0; // workers that have not ended
    std::exception_ptr trouble_;
    Finished finished_;
    std::vector<WorkerCounts> counts_; // by worker
    std::vector<std::thread> threads_;
};

} // namespace fencepost::test
