// SPDX-License-Identifier: GPL-2.0-or-later
// See worker_pool.h.
#include "replayer/test/pool/worker_pool.h"

#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::test {

using oracle::Verdict;

namespace {

constexpr std::size_t kImagesPerAudit = 64;
constexpr double kSecondsPerAudit = 1;
// So that a signal is seen.
constexpr std::chrono::milliseconds kWaitStep(100);

// What was tested on PM that nobody can vouch for.
void discredit(Outcome &outcome)
{
    outcome.judgement.evidence.push_back(
        {"harness", Verdict::infra_error, "worker PM failed its audit",
         oracle::Details::of_texts({{"verdict", to_string(outcome.judgement.verdict)}})});
    outcome.judgement.verdict = Verdict::infra_error;
    outcome.failed.reset();
}

void discredit(Answer &answer)
{
    answer.decided.reset();
    for (Probe &probe : answer.probes)
        probe.verdict = Verdict::infra_error;
}

template <typename Each> void move_to(std::vector<Each> &from, std::vector<Each> &to)
{
    std::move(from.begin(), from.end(), std::back_inserter(to));
    from.clear();
}

} // namespace

WorkerPool::WorkerPool(const WorkerPlan &plan, unsigned jobs,
                       const std::shared_ptr<const image::ImageStep> &first)
    : plan_(plan), queue_limit_(2 * jobs + 2), counts_(jobs)
{
    // A machine dies with the thread that started it, so each worker stays on one.
    working_ = jobs;
    for (unsigned i = 0; i < jobs; ++i)
        threads_.emplace_back([this, i, first] { work(i, first); });
}

WorkerPool::~WorkerPool()
{
    stop();
}

void WorkerPool::stop()
{
    {
        const std::lock_guard guard(mutex_);
        stopping_ = true;
    }
    for_workers_.notify_all();
    for (std::thread &thread : threads_)
        thread.join();
    threads_.clear();
}

void WorkerPool::work(unsigned number, std::shared_ptr<const image::ImageStep> first)
{
    std::exception_ptr trouble;
    try {
        Worker worker(plan_, number, std::move(first));
        Finished unaudited;
        try {
            serve(worker, unaudited);
        } catch (...) {
            trouble = std::current_exception();
        }
        release(worker, unaudited);
        const std::lock_guard guard(mutex_);
        counts_[number] = worker.counts();
    } catch (...) {
        if (!trouble)
            trouble = std::current_exception();
    }
    const std::lock_guard guard(mutex_);
    if (trouble && !trouble_)
        trouble_ = trouble;
    --working_;
    for_caller_.notify_all();
}

void WorkerPool::serve(Worker &worker, Finished &unaudited)
{
    Stopwatch since_audit;
    for (;;) {
        std::optional<Job> job;
        {
            std::unique_lock lock(mutex_);
            if (queue_.empty() && !unaudited.empty() && !closed_ && !stopping_)
                for_workers_.wait_for(lock, kWaitStep);
            if (queue_.empty() && !unaudited.empty() && !stopping_) {
                lock.unlock();
                release(worker, unaudited);
                lock.lock();
            }
            for_workers_.wait(lock,
                              [&] { return stopping_ || trouble_ || closed_ || !queue_.empty(); });
            if (stopping_ || trouble_ || queue_.empty())
                break;
            job = std::move(queue_.front());
            queue_.pop_front();
        }
        for_caller_.notify_all();
        work_on(std::move(*job), worker, unaudited);
        if (unaudited.outcomes.size() >= kImagesPerAudit ||
            since_audit.seconds() >= kSecondsPerAudit) {
            release(worker, unaudited);
            since_audit = {};
        }
    }
}

void WorkerPool::work_on(Job job, Worker &worker, Finished &unaudited)
{
    if (const auto *question = std::get_if<Question>(&job)) {
        unaudited.answers.push_back(worker.explain(*question, [this] { return !is_stopping(); }));
        return;
    }
    auto &assignment = std::get<Assignment>(job);
    Outcome outcome = worker.test(assignment);
    if (is_failure(outcome.judgement.verdict) && assignment.stores.in_flight)
        outcome.failed = std::move(assignment);
    unaudited.outcomes.push_back(std::move(outcome));
}

bool WorkerPool::is_stopping()
{
    const std::lock_guard guard(mutex_);
    return stopping_;
}

void WorkerPool::release(Worker &worker, Finished &unaudited)
{
    if (unaudited.empty())
        return;
    if (!worker.audit()) {
        for (Outcome &outcome : unaudited.outcomes)
            discredit(outcome);
        for (Answer &answer : unaudited.answers)
            discredit(answer);
    }
    const std::lock_guard guard(mutex_);
    move_to(unaudited.outcomes, finished_.outcomes);
    move_to(unaudited.answers, finished_.answers);
    for_caller_.notify_all();
}

void WorkerPool::rethrow()
{
    if (trouble_)
        std::rethrow_exception(trouble_);
}

void WorkerPool::submit(Assignment assignment)
{
    std::unique_lock lock(mutex_);
    while (queue_.size() >= queue_limit_ && !trouble_) {
        for_caller_.wait_for(lock, kWaitStep);
        throw_if_interrupted();
    }
    rethrow();
    queue_.push_back(std::move(assignment));
    for_workers_.notify_one();
}

void WorkerPool::ask(Question question)
{
    const std::lock_guard guard(mutex_);
    queue_.push_front(std::move(question));
    for_workers_.notify_one();
}

WorkerPool::Finished WorkerPool::take_finished()
{
    const std::lock_guard guard(mutex_);
    return std::exchange(finished_, {});
}

void WorkerPool::wait_finished(std::chrono::milliseconds span)
{
    std::unique_lock lock(mutex_);
    for_caller_.wait_for(lock, span,
                         [&] { return !finished_.empty() || trouble_ || working_ == 0; });
    if (finished_.empty())
        rethrow();
}

void WorkerPool::close()
{
    {
        const std::lock_guard guard(mutex_);
        closed_ = true;
    }
    for_workers_.notify_all();
}

bool WorkerPool::done()
{
    const std::lock_guard guard(mutex_);
    if (working_ != 0 || !finished_.empty())
        return false;
    rethrow();
    return true;
}

WorkerCounts WorkerPool::counts()
{
    const std::lock_guard guard(mutex_);
    WorkerCounts sum;
    for (const WorkerCounts &each : counts_) {
        sum.restores += each.restores;
        sum.lost_guests += each.lost_guests;
        sum.discarded_guests += each.discarded_guests;
        sum.audits += each.audits;
        sum.failed_audits += each.failed_audits;
        sum.pm.pages_compared += each.pm.pages_compared;
        sum.pm.pages_written += each.pm.pages_written;
        sum.pm.full_compares += each.pm.full_compares;
    }
    return sum;
}

} // namespace fencepost::test
