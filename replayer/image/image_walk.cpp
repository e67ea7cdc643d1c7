// SPDX-License-Identifier: GPL-2.0-or-later
// See image_walk.h.
#include "replayer/image/image_walk.h"

#include "base/error.h"

namespace fencepost::image {

ReadyImage::ReadyImage(ImageWalk &walk, const states::StateView &state)
    : walk_(walk), state_(state), identity_(walk.images_.hash(state))
{
}

states::CrashState ReadyImage::crash_state() const
{
    return walk_.asked_ ? *walk_.asked_ : walk_.walk_.crash_state(state_);
}

bool ReadyImage::architectural() const
{
    CHECK(walk_.labels_, "labels are wanted");
    return !walk_.legality_ || walk_.legality_->legal_architecturally(state_);
}

const trace::EventRef &ReadyImage::last_store() const
{
    return walk_.last_store_;
}

CrashImage ReadyImage::take()
{
    taken_ = true;
    return walk_.stream_->take(state_, identity_);
}

StateStores ReadyImage::stores()
{
    if (!walk_.stores_)
        walk_.stores_ = std::make_shared<InFlightStores>(walk_.items());
    return {walk_.stores_, walk_.stores_->parts_of(state_, walk_.items())};
}

std::vector<LineContent> ReadyImage::difference_from_initial()
{
    return walk_.images_.difference_from_initial(state_);
}

ImageWalk::ImageWalk(const trace::TraceReader &reader, const InitialImage &initial,
                     states::WalkOptions options, Wanted wanted,
                     std::optional<ImageStream::End> behind)
    : walk_(reader, options), images_(initial), labels_(wanted.labels)
{
    if (wanted.labels && options.fences == model::FenceRule::explicit_only)
        legality_.emplace(
            options.model,
            [this](std::uint64_t line) { return images_.images().guaranteed().line(line); },
            options.promise);
    if (behind)
        stream_.emplace(images_, std::move(*behind));
    else if (wanted.images)
        stream_.emplace(images_);
}

states::WalkReport ImageWalk::run(ImageListener &listener)
{
    listener_ = &listener;
    return walk_.run(*this);
}

void ImageWalk::run_to(const states::CrashState &state, ImageListener &listener)
{
    listener_ = &listener;
    asked_ = state;
    walk_.run_to(state, *this);
}

void ImageWalk::event(std::uint64_t seq, const trace::Event &event,
                      std::span<const std::byte> wide_values, const model::InFlight &in_flight)
{
    if (legality_) {
        legality_->event(seq, event, wide_values);
        images_.event(event, wide_values, in_flight,
                      [this](const model::SettledPiece &settled) { legality_->settle(settled); });
    } else {
        images_.event(event, wide_values, in_flight);
    }
    if (event.is_store())
        last_store_ = {seq, event.site, event.stack};
}

void ImageWalk::crash_point(const states::CrashPoint &, const states::ItemTable *items,
                            const model::InFlight &in_flight)
{
    images_.crash_point(items, in_flight);
    if (legality_)
        legality_->crash_point(in_flight);
    items_ = items;
    stores_.reset();
}

const states::ItemTable &ImageWalk::items()
{
    if (!items_) {
        walk_.build_items(own_items_);
        items_ = &own_items_;
    }
    return *items_;
}

bool ImageWalk::state(const states::StateView &state)
{
    ReadyImage image(*this, state);
    const bool going = listener_->image(image);
    if (stream_ && !image.taken_)
        stream_->skip();
    return going;
}

} // namespace fencepost::image
