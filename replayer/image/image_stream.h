// SPDX-License-Identifier: GPL-2.0-or-later
// Crash images as values that outlive the walk: what one thread makes, others hold as bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "replayer/image/initial_image.h"
#include "replayer/image/state_images.h"

namespace fencepost::image {

// What became guaranteed from one crash image to the next. Steps form a chain from the first to the
// latest, and each is freed when the last holder has gone past it.
struct ImageStep {
    std::uint64_t number = 0; // from 0
    std::vector<LineContent> lines = {};
    // Set once, before an image that needs it is handed out.
    mutable std::shared_ptr<const ImageStep> next = nullptr;

    ImageStep() = default;
    ImageStep(ImageStep &&) = delete;
    ~ImageStep(); // without recursion, however long the chain
};

struct CrashImage {
    std::shared_ptr<const ImageStep> step; // the guaranteed image: everything up to and with this
    std::vector<LineContent> in_flight;    // over it
    Hash128 identity;
};

// Goes along with a walk. An image costs the lines in which it can differ from the one before.
class ImageStream {
public:
    // Where a stream ended, for another walk over the same trace that goes on with it.
    struct End {
        std::shared_ptr<const ImageStep> last;
        std::vector<std::uint64_t> lines; // that may be other than in the initial image
    };

    // `images`: of the same walk, and asked by nobody else for changes.
    explicit ImageStream(StateImages &images);
    // Its images come behind those of another stream, whose holders hold them too.
    ImageStream(StateImages &images, End behind);

    End end();

    // `identity`: of the state's image.
    CrashImage take(const states::StateView &state, const Hash128 &identity);
    // Instead of take(): the state is not wanted. Keeps memory to the lines that changed.
    void skip();
    // Where holders start.
    std::shared_ptr<const ImageStep> first() const { return first_; }
    // No more holders will start.
    void forget_first() { first_.reset(); }

private:
    void gather_changes();

    StateImages &images_;
    std::shared_ptr<const ImageStep> first_;
    std::shared_ptr<const ImageStep> last_;
    std::vector<std::uint64_t> pending_; // changed lines of no step yet, sorted
    unsigned skipped_ = 0;
};

// All of PM as one crash image after the other has it. For one thread.
class HeldImage {
public:
    HeldImage(const InitialImage &initial, std::shared_ptr<const ImageStep> first);

    // Best in the order in which images were taken; one from before costs what changed since. Calls
    // changed(line) for every line that may be another than before.
    template <typename Changed> void show(const CrashImage &image, Changed &&changed)
    {
        for (const LineContent &each : replaced_)
            put(each, changed);
        replaced_.clear();
        while (step_->number > image.step->number)
            for (const LineContent &each : step_back())
                put(each, changed);
        while (step_ != image.step)
            for (const LineContent &each : step_forward())
                put(each, changed);
        for (const LineContent &each : image.in_flight) {
            if (copy_.line(each.line))
                replaced_.push_back(content_of(each.line));
            put(each, changed);
        }
    }

    // The line as the image shown last has it.
    const std::byte *line(std::uint64_t line) { return copy_.line(line); }
    // In the order of InitialImage::regions().
    std::span<const std::byte> region(std::size_t index) { return copy_.region(index); }
    const InitialImage &initial() const { return initial_; }

private:
    // What was there before a step, for as long as somebody holds an image from before it.
    struct Undo {
        std::weak_ptr<const ImageStep> before;
        std::vector<LineContent> lines;
    };

    // The lines to put.
    std::span<const LineContent> step_forward();
    std::span<const LineContent> step_back();
    LineContent content_of(std::uint64_t line);

    template <typename Changed> void put(const LineContent &content, Changed &&changed)
    {
        std::byte *bytes = copy_.line(content.line);
        if (!bytes || std::memcmp(bytes, content.bytes.data(), trace::kLineBytes) == 0)
            return;
        std::memcpy(bytes, content.bytes.data(), trace::kLineBytes);
        changed(content.line);
    }

    const InitialImage &initial_;
    PmCopy copy_;
    std::shared_ptr<const ImageStep> step_;
    std::vector<Undo> undo_;            // of the latest steps, the last one last
    std::vector<LineContent> undone_;   // by step_back()
    std::vector<LineContent> replaced_; // guaranteed contents below what is in flight
};

} // namespace fencepost::image
