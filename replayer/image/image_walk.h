// SPDX-License-Identifier: GPL-2.0-or-later
// A trace's crash states with their images, one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/image/image_stream.h"
#include "replayer/image/in_flight_stores.h"
#include "replayer/image/state_images.h"
#include "replayer/states/legality.h"
#include "replayer/states/state_walk.h"

namespace fencepost::image {

class ImageWalk;

// A crash state and its image. Borrowed: good until the next one.
class ReadyImage {
public:
    ReadyImage(ImageWalk &walk, const states::StateView &state);

    const states::StateView &state() const { return state_; }
    const states::CrashPoint &point() const { return state_.point; }
    const Hash128 &identity() const { return identity_; }
    states::CrashState crash_state() const;
    std::string id() const { return states::id_of(crash_state()); }
    // False: the state relies on an incidental locked instruction. Only when labels are wanted.
    bool architectural() const;
    // The latest store before the power failure.
    const trace::EventRef &last_store() const;

    // As values that outlive the walk. take() only when images are wanted.
    CrashImage take();
    StateStores stores();
    // All lines that differ from the initial image, in ascending order.
    std::vector<LineContent> difference_from_initial();

private:
    friend class ImageWalk;

    ImageWalk &walk_;
    const states::StateView &state_;
    Hash128 identity_;
    bool taken_ = false;
};

class ImageListener {
public:
    virtual ~ImageListener() = default;

    // False stops the walk.
    virtual bool image(ReadyImage &image) = 0;
    // After the states of a crash point that ends an epoch.
    virtual void epoch(const states::EpochCount &) {}
};

// Makes images along with a states::StateWalk, with all that it says about the trace and the
// options. `initial` is borrowed, and of the same trace.
class ImageWalk : private states::StateListener {
public:
    // What costs something at every event.
    struct Wanted {
        bool labels = true;
        bool images = false;
    };

    // `behind`: an earlier walk's end(), if images are wanted and its holders hold these too.
    ImageWalk(const trace::TraceReader &reader, const InitialImage &initial,
              states::WalkOptions options, Wanted wanted,
              std::optional<ImageStream::End> behind = {});

    states::WalkReport run(ImageListener &listener);
    // Goes to the state's crash point and offers that one state.
    void run_to(const states::CrashState &state, ImageListener &listener);
    // So far.
    const states::WalkReport &report() const { return walk_.report(); }
    // When images are wanted, of which the first is not yet taken.
    std::shared_ptr<const ImageStep> first_step() const { return stream_->first(); }
    // Whoever wants that has it.
    void forget_first_step() { stream_->forget_first(); }
    ImageStream::End end() { return stream_->end(); }

private:
    friend class ReadyImage;

    void event(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight) override;
    void crash_point(const states::CrashPoint &, const states::ItemTable *items,
                     const model::InFlight &in_flight) override;
    bool state(const states::StateView &state) override;
    void epoch(const states::EpochCount &epoch) override { listener_->epoch(epoch); }
    const states::ItemTable &items();

    states::StateWalk walk_;
    StateImages images_;
    std::optional<ImageStream> stream_;
    std::optional<states::Legality> legality_; // nothing: every state is, or nobody asks
    const bool labels_;
    ImageListener *listener_ = nullptr;
    std::optional<states::CrashState> asked_; // by run_to()
    trace::EventRef last_store_;
    // Of the crash point.
    const states::ItemTable *items_ = nullptr;
    states::ItemTable own_items_; // where no strategy asks for items
    std::shared_ptr<const InFlightStores> stores_;
};

} // namespace fencepost::image
