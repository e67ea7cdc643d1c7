// SPDX-License-Identifier: GPL-2.0-or-later
// See image_stream.h.
#include "replayer/image/image_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fencepost::image {

namespace {

constexpr unsigned kMostSkipped = 1024;

} // namespace

ImageStep::~ImageStep()
{
    std::shared_ptr<const ImageStep> rest = std::move(next);
    while (rest && rest.use_count() == 1)
        rest = std::exchange(rest->next, nullptr);
}

ImageStream::ImageStream(StateImages &images)
    : images_(images), first_(std::make_shared<ImageStep>()), last_(first_)
{
    images_.images().guaranteed().log_changes();
}

void ImageStream::gather_changes()
{
    skipped_ = 0;
    const std::vector<std::uint64_t> changes = images_.images().guaranteed().take_changes();
    std::vector<std::uint64_t> both;
    std::set_union(pending_.begin(), pending_.end(), changes.begin(), changes.end(),
                   std::back_inserter(both));
    pending_ = std::move(both);
}

void ImageStream::skip()
{
    if (++skipped_ >= kMostSkipped)
        gather_changes();
}

CrashImage ImageStream::take(const states::State &state)
{
    CrashImage taken;
    taken.identity = images_.hash(state);
    gather_changes();
    if (!pending_.empty()) {
        auto step = std::make_shared<ImageStep>();
        step->lines.reserve(pending_.size());
        for (const std::uint64_t line : pending_) {
            step->lines.push_back({.line = line});
            std::memcpy(step->lines.back().bytes.data(), images_.images().guaranteed().line(line),
                        trace::kLineBytes);
        }
        pending_.clear();
        last_->next = step;
        last_ = std::move(step);
    }
    images_.lines_in_flight(state, taken.in_flight);
    taken.step = last_;
    return taken;
}

HeldImage::HeldImage(const InitialImage &initial, std::shared_ptr<const ImageStep> first)
    : initial_(initial), copy_(initial), step_(std::move(first))
{
}

} // namespace fencepost::image
