// SPDX-License-Identifier: GPL-2.0-or-later
// See image_pair.h.
#include "replayer/image/image_pair.h"

#include <algorithm>
#include <utility>

namespace fencepost::image {

using trace::kLineBytes;

ChangingImage::ChangingImage(const InitialImage &initial) : copy_(initial), hash_(initial.hash())
{
    for (const trace::Region &region : initial.regions()) {
        const std::uint64_t lines = (region.size + kLineBytes - 1) / kLineBytes;
        is_dirty_.push_back(
            {region.base / kLineBytes, std::vector<std::uint64_t>((lines + 63) / 64)});
    }
    ever_ = is_dirty_;
}

void ChangingImage::touch(std::uint64_t line)
{
    recent_line_ = line;
    recent_ = copy_.line(line);
    if (!recent_)
        return;
    for (std::size_t i = 0; i < is_dirty_.size(); ++i) {
        const std::uint64_t at = line - is_dirty_[i].first_line;
        if (at >= is_dirty_[i].words.size() * 64)
            continue;
        std::uint64_t &word = is_dirty_[i].words[at / 64];
        const std::uint64_t bit = std::uint64_t{1} << at % 64;
        if (word & bit)
            return;
        word |= bit;
        ever_[i].words[at / 64] |= bit;
        break;
    }
    hash_ -= line_hash(line, recent_);
    dirty_.push_back(line);
}

Hash128 ChangingImage::hash()
{
    for (const std::uint64_t line : dirty_) {
        hash_ += line_hash(line, copy_.line(line));
        for (Bits &bits : is_dirty_)
            if (const std::uint64_t at = line - bits.first_line; at < bits.words.size() * 64) {
                bits.words[at / 64] &= ~(std::uint64_t{1} << at % 64);
                break;
            }
    }
    if (logging_)
        log_.insert(log_.end(), dirty_.begin(), dirty_.end());
    dirty_.clear();
    recent_line_ = UINT64_MAX; // the next write must subtract the line's hash again
    return hash_;
}

std::vector<std::uint64_t> ChangingImage::take_changes()
{
    hash();
    std::vector<std::uint64_t> lines = std::exchange(log_, {});
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

} // namespace fencepost::image
