// SPDX-License-Identifier: GPL-2.0-or-later
// A PM file that holds one crash image after the other, patched where they differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/image/state_images.h"

namespace fencepost::image {

// Goes along with a walk. The cost of a step is that of the lines in which the image can differ
// from the one before it: what became guaranteed meanwhile, and what is in flight in either state.
class PatchedImage {
public:
    // `regions`: the mapped bytes, in the order of InitialImage::regions(). Whatever they hold is
    // replaced by the first image. Others must not write to them, or say so with changed().
    PatchedImage(StateImages &images, std::vector<std::span<std::byte>> regions);

    // Makes the mapping hold the state. Returns how many lines were written.
    std::size_t show(const states::StateView &state);
    // Somebody else wrote to this line: the next show() looks at it.
    void changed(std::uint64_t line) { suspects_.push_back(line); }

private:
    std::span<std::byte> bytes_of(std::uint64_t line);
    bool put(std::uint64_t line, const std::byte *content);
    std::size_t load();

    StateImages &images_;
    std::vector<std::span<std::byte>> regions_;
    bool loaded_ = false;
    std::vector<std::uint64_t> suspects_; // lines that may not hold what is guaranteed
    std::vector<LineContent> lines_;
};

} // namespace fencepost::image
