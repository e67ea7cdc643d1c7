// SPDX-License-Identifier: GPL-2.0-or-later
// See patched_image.h.
#include "replayer/image/patched_image.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fencepost::image {

using trace::kLineBytes;

PatchedImage::PatchedImage(StateImages &images, std::vector<std::span<std::byte>> regions)
    : images_(images), regions_(std::move(regions))
{
    CHECK(regions_.size() == images.initial().regions().size(), "a mapping for each region");
    for (std::size_t i = 0; i < regions_.size(); ++i)
        CHECK(regions_[i].size() == images.initial().regions()[i].size,
              "a mapping as large as its region");
    images_.images().guaranteed().log_changes();
}

std::span<std::byte> PatchedImage::bytes_of(std::uint64_t line)
{
    const auto known = images_.initial().regions();
    for (std::size_t i = 0; i < known.size(); ++i)
        if (const std::uint64_t address = line * kLineBytes; known[i].contains(address)) {
            const std::uint64_t offset = address - known[i].base;
            return regions_[i].subspan(offset,
                                       std::min<std::uint64_t>(kLineBytes, known[i].size - offset));
        }
    return {};
}

bool PatchedImage::put(std::uint64_t line, const std::byte *content)
{
    const std::span<std::byte> bytes = bytes_of(line);
    if (bytes.empty() || std::memcmp(bytes.data(), content, bytes.size()) == 0)
        return false;
    std::memcpy(bytes.data(), content, bytes.size());
    return true;
}

// The first time, everything is compared.
std::size_t PatchedImage::load()
{
    loaded_ = true;
    images_.images().guaranteed().take_changes();
    std::size_t written = 0;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        const std::span<const std::byte> guaranteed = images_.images().guaranteed().region(i);
        for (std::size_t at = 0; at < guaranteed.size(); at += kLineBytes) {
            const std::size_t size = std::min<std::size_t>(kLineBytes, guaranteed.size() - at);
            if (std::memcmp(regions_[i].data() + at, guaranteed.data() + at, size) == 0)
                continue;
            std::memcpy(regions_[i].data() + at, guaranteed.data() + at, size);
            ++written;
        }
    }
    return written;
}

std::size_t PatchedImage::show(const states::StateView &state)
{
    std::size_t written = loaded_ ? 0 : load();
    images_.lines_in_flight(state, lines_);
    std::sort(lines_.begin(), lines_.end(),
              [](const LineContent &a, const LineContent &b) { return a.line < b.line; });
    for (const std::uint64_t line : images_.images().guaranteed().take_changes())
        suspects_.push_back(line);
    for (const std::uint64_t line : suspects_) {
        const auto found = std::lower_bound(
            lines_.begin(), lines_.end(), line,
            [](const LineContent &each, std::uint64_t number) { return each.line < number; });
        // Those of the new state are put below.
        if (found == lines_.end() || found->line != line)
            if (const std::byte *content = images_.images().guaranteed().line(line))
                written += put(line, content);
    }
    suspects_.clear();
    for (const LineContent &each : lines_) {
        written += put(each.line, each.bytes.data());
        suspects_.push_back(each.line);
    }
    return written;
}

} // namespace fencepost::image
