// SPDX-License-Identifier: GPL-2.0-or-later
// Images that are kept and patched from state to state.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "pm_images_fixture.h"
#include "replayer/image/image_stream.h"
#include "replayer/image/patched_image.h"

namespace fencepost::image {
namespace {

// One mapping that is patched from state to state holds each of them, and little is written.
TEST_P(PmImages, PatchingReachesEveryState)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    Bytes mapping(reader.regions()[0].size, std::byte{0xee});
    std::unique_ptr<PatchedImage> patched;
    std::uint64_t seen = 0;
    std::size_t most_lines = 0;
    Listener *self = nullptr;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        if (!patched)
            patched = std::make_unique<PatchedImage>(self->images(),
                                                     std::vector<std::span<std::byte>>{mapping});
        if (++seen % 3 == 0)
            return true; // not every state is shown: others happen in between
        const std::size_t lines = patched->show(state);
        if (seen > 1)
            most_lines = std::max(most_lines, lines);
        if (seen % 7 == 0) {
            EXPECT_EQ(mapping, bytes_of(state, images));
        }
        // A guest that wrote to PM, and a harness that noticed.
        mapping[640] = std::byte{0x55};
        patched->changed(reader.regions()[0].base / 64 + 10);
        return true;
    });
    self = &listener;
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("none-all,random:2"),
                                    .window = {.last_seq = 6000}});
    walk.run(listener);
    EXPECT_GT(seen, 50u);
    EXPECT_LT(most_lines, 400u);
}

// Images as values: two holders that take turns, fall behind and go back to an image from before.
class Holders {
public:
    Holders(const InitialImage &initial, StateImages &images) : stream_(std::in_place, images)
    {
        for (int i = 0; i < 2; ++i)
            holders_.push_back(std::make_unique<HeldImage>(initial, stream_->first()));
        stream_->forget_first();
        remember_what_is_shown();
    }

    // Another walk, whose images these holders show as well.
    void end_walk() { end_ = stream_->end(); }
    void begin_again(StateImages &images) { stream_.emplace(images, std::move(end_)); }

    void skip() { stream_->skip(); }

    void show(std::uint64_t number, const StateView &state, StateImages &images)
    {
        const CrashImage image = stream_->take(state, images.hash(state));
        if (number % 50 == 7)
            earlier_ = {image, CrashImages::bytes_of(state, images)};
        else if (number % 50 == 40 && earlier_.first.step)
            go_back(image, number);
        const bool second = number % 10 == 0;
        HeldImage &holder = *holders_[second];
        holder.show(image, [&](std::uint64_t line) {
            const std::uint64_t at = line * 64 - images.initial().regions()[0].base;
            if (second)
                std::memcpy(shown_.data() + at, holder.region(0).data() + at, 64);
        });
        if (!second && number % 7 != 0)
            return;
        ++compared;
        const auto held = holder.region(0);
        EXPECT_TRUE(Bytes(held.begin(), held.end()) == CrashImages::bytes_of(state, images))
            << number;
        EXPECT_TRUE(!second || std::memcmp(shown_.data(), held.data(), shown_.size()) == 0)
            << "a change was not told";
    }

    std::uint64_t compared = 0;
    std::uint64_t went_back = 0;

private:
    void remember_what_is_shown()
    {
        const auto held = holders_[1]->region(0);
        shown_.assign(held.begin(), held.end());
    }

    void go_back(const CrashImage &image, std::uint64_t number)
    {
        went_back += earlier_.first.step != image.step;
        for (const std::unique_ptr<HeldImage> &each : holders_) {
            each->show(image, [](std::uint64_t) {});
            each->show(earlier_.first, [](std::uint64_t) {});
            const auto held = each->region(0);
            EXPECT_TRUE(Bytes(held.begin(), held.end()) == earlier_.second) << number;
        }
        remember_what_is_shown();
        earlier_ = {};
    }

    std::optional<ImageStream> stream_;
    ImageStream::End end_;
    std::vector<std::unique_ptr<HeldImage>> holders_;
    Bytes shown_; // what the second holder told to have changed, applied
    std::pair<CrashImage, Bytes> earlier_;
};

TEST_P(PmImages, HeldImagesAreTheStatesThatTheyWereTakenFrom)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    std::unique_ptr<Holders> holders;
    std::uint64_t seen = 0;
    for (const std::uint64_t last_seq : {4000, 6000, 2000}) { // one walk behind the other
        bool begun = false;
        Listener *self = nullptr;
        Listener listener(initial, [&](const StateView &state, StateImages &images) {
            if (!holders)
                holders = std::make_unique<Holders>(initial, self->images());
            else if (!begun)
                holders->begin_again(self->images());
            begun = true;
            if (++seen % 3 == 0)
                holders->skip();
            else
                holders->show(seen, state, images);
            return true;
        });
        self = &listener;
        states::StateWalk walk(reader, {.strategies = states::parse_strategies("none-all,random:2"),
                                        .window = {.last_seq = last_seq}});
        walk.run(listener);
        holders->end_walk();
    }
    EXPECT_GT(holders->compared, 10u);
    EXPECT_GT(holders->went_back, 2u);
}

INSTANTIATE_TEST_SUITE_P(Work, PmImages, testing::Values("tidy", "forgetful", "mixed"),
                         [](const auto &shape) { return std::string(shape.param); });

} // namespace
} // namespace fencepost::image
