// SPDX-License-Identifier: GPL-2.0-or-later
// See forecast.h.
#include "replayer/test/forecast.h"

#include <algorithm>

#include <sys/resource.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "replayer/image/image_walk.h"

namespace fencepost::test {

namespace {

// Images that are tested to find out what decides, and to minimize a finding, where there is no
// better number (docs/reference/scoreboard.md).
constexpr double kProbes = 4;
constexpr double kMinimizingTests = 5;

class Counter : public image::ImageListener {
public:
    Counter(const states::PromiseAt &promise, const std::atomic<bool> &stop)
        : promise_(promise), stop_(stop)
    {
    }

    bool image(image::ReadyImage &image) override
    {
        const std::uint64_t expected = promise_ ? promise_(image.point().seq) : 0;
        distinct_.add((image.identity().low ^ expected * 0x9e3779b97f4a7c15u) *
                      0xbf58476d1ce4e5b9u);
        return !stop_;
    }
    std::uint64_t count() const { return distinct_.count(); }

private:
    const states::PromiseAt &promise_;
    const std::atomic<bool> &stop_;
    DistinctCount distinct_;
};

} // namespace

void DistinctCount::add(std::uint64_t number)
{
    if ((number & mask_) != 0)
        return;
    kept_.insert(number);
    while (kept_.size() > kMostKept) {
        mask_ = mask_ << 1 | 1;
        std::erase_if(kept_, [this](std::uint64_t each) { return (each & mask_) != 0; });
    }
}

std::optional<double> seconds_to_test(const TestPace &start, const TestPace &now,
                                      std::uint64_t images)
{
    const double seconds = now.seconds - start.seconds;
    const auto tested = static_cast<double>(now.tested - start.tested);
    if (tested <= 0 || seconds <= 0)
        return std::nullopt;
    const double to_test = static_cast<double>(images) * seconds / tested;
    // Failures are rare: all that were seen tell what one costs.
    const double explained =
        static_cast<double>(now.failing - std::min(now.failing, now.unexplained));
    const double failing = static_cast<double>(now.failing) / static_cast<double>(now.tested);
    const double per_failure = explained > 0 ? now.seconds / explained : kProbes * seconds / tested;
    const double to_explain =
        (static_cast<double>(now.unexplained) + static_cast<double>(images) * failing) *
        per_failure;
    return now.unexplained == 0 ? to_test : std::max(to_test, to_explain);
}

TestPace PaceHistory::half_way(const TestPace &now)
{
    paces_.push_back(now);
    const auto after =
        std::partition_point(paces_.begin() + 1, paces_.end(),
                             [&](const TestPace &pace) { return pace.seconds <= now.seconds / 2; });
    return *(after - 1);
}

double seconds_to_minimize(const TestPace &now, double most)
{
    if (now.failing == 0)
        return 0;
    return std::min(most,
                    kMinimizingTests * now.failing_seconds / static_cast<double>(now.failing));
}

Forecast::Forecast(const std::filesystem::path &trace, const image::InitialImage &initial,
                   states::WalkOptions walk)
    : thread_([this, trace, &initial, walk = std::move(walk)] {
          setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
          try {
              const trace::TraceReader reader(trace); // one reader is for one thread
              Counter counter(walk.promise, stop_);
              image::ImageWalk(reader, initial, walk, {.labels = false}).run(counter);
              if (!stop_)
                  images_ = counter.count();
          } catch (const Error &error) { // the test says it, if it is trouble
              spdlog::debug("images could not be counted: {}", error.what());
          }
      })
{
}

Forecast::~Forecast()
{
    stop_ = true;
    thread_.join();
}

std::optional<std::uint64_t> Forecast::images() const
{
    const std::uint64_t images = images_;
    return images == kUnknown ? std::nullopt : std::optional(images);
}

} // namespace fencepost::test
