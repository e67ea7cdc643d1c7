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

ImageStream::ImageStream(StateImages &images, End behind)
    : images_(images), last_(std::move(behind.last)), pending_(std::move(behind.lines))
{
    images_.images().guaranteed().log_changes();
}

ImageStream::End ImageStream::end()
{
    End end = {.last = last_, .lines = pending_};
    images_.images().guaranteed().for_each_written(
        [&](std::uint64_t line) { end.lines.push_back(line); });
    std::sort(end.lines.begin(), end.lines.end());
    end.lines.erase(std::unique(end.lines.begin(), end.lines.end()), end.lines.end());
    return end;
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

CrashImage ImageStream::take(const states::StateView &state, const Hash128 &identity)
{
    CrashImage taken;
    taken.identity = identity;
    gather_changes();
    if (!pending_.empty()) {
        auto step = std::make_shared<ImageStep>();
        step->number = last_->number + 1;
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

LineContent HeldImage::content_of(std::uint64_t line)
{
    LineContent content = {.line = line};
    std::memcpy(content.bytes.data(), copy_.line(line), trace::kLineBytes);
    return content;
}

std::span<const LineContent> HeldImage::step_forward()
{
    CHECK(step_->next, "a step of the stream that this image follows");
    // Whoever holds an earlier step holds the chain from there on, and so this one.
    if (step_.use_count() == 1) {
        undo_.clear();
    } else {
        Undo &undo = undo_.emplace_back();
        undo.before = step_;
        for (const LineContent &each : step_->next->lines)
            if (copy_.line(each.line))
                undo.lines.push_back(content_of(each.line));
    }
    step_ = step_->next;
    return step_->lines;
}

std::span<const LineContent> HeldImage::step_back()
{
    CHECK(!undo_.empty(), "the image was held all the time since it was taken");
    undone_ = std::move(undo_.back().lines);
    step_ = undo_.back().before.lock();
    CHECK(step_, "the image was held all the time since it was taken");
    undo_.pop_back();
    return undone_;
}

} // namespace fencepost::image
