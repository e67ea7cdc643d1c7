// SPDX-License-Identifier: GPL-2.0-or-later
// See forecast.h.
#include "replayer/test/forecast.h"

#include <sys/resource.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "replayer/image/image_walk.h"

namespace fencepost::test {

namespace {

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
