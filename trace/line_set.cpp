// SPDX-License-Identifier: GPL-2.0-or-later
// See line_set.h. Per touched page of 64 lines: varint of 4 × (distance to the page before) + form,
// then what the form needs. Whole pages and single lines are by far the most common.
#include "trace/line_set.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "trace/byte_cursor.h"

namespace fencepost::trace {

namespace {

enum Form : std::uint8_t { kWhole, kOne, kRun, kMask };

void put_page(std::vector<std::byte> &out, std::uint64_t distance, std::uint64_t lines)
{
    const unsigned first = static_cast<unsigned>(std::countr_zero(lines));
    const unsigned count = static_cast<unsigned>(std::popcount(lines));
    const bool is_run = static_cast<unsigned>(std::countr_one(lines >> first)) == count;
    const Form form = count == 64 ? kWhole : count == 1 ? kOne : is_run ? kRun : kMask;
    put_varint(out, distance << 2 | form);
    if (form == kOne || form == kRun)
        out.push_back(static_cast<std::byte>(first));
    if (form == kRun)
        out.push_back(static_cast<std::byte>(count));
    if (form == kMask)
        for (unsigned shift = 0; shift < 64; shift += 8)
            out.push_back(static_cast<std::byte>(lines >> shift));
}

std::uint64_t run_of_lines(unsigned first, unsigned count)
{
    if (first >= 64 || count == 0 || count > 64 - first)
        fail(ErrorKind::trace, "its set of lines is nonsense");
    return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

std::uint64_t take_lines(ByteCursor &cursor, Form form)
{
    if (form == kWhole)
        return ~std::uint64_t{0};
    if (form == kMask)
        return cursor.word();
    const unsigned first = cursor.byte();
    return run_of_lines(first, form == kRun ? cursor.byte() : 1);
}

} // namespace

bool LineSetBuilder::any_recent() const
{
    return std::ranges::any_of(recent_, [](const PageLines &recent) { return recent.lines != 0; });
}

void LineSetBuilder::clear()
{
    recent_.fill({UINT64_MAX, 0});
    touched_.clear();
}

std::vector<std::byte> LineSetBuilder::encode(LineRange &bounds)
{
    for (const PageLines &recent : recent_)
        if (recent.lines)
            touched_.push_back(recent);
    std::ranges::sort(touched_, {}, &PageLines::page);
    std::vector<std::byte> out;
    std::uint64_t previous = 0;
    for (std::size_t i = 0; i < touched_.size();) {
        PageLines merged = touched_[i];
        while (++i < touched_.size() && touched_[i].page == merged.page)
            merged.lines |= touched_[i].lines;
        if (out.empty())
            bounds.first =
                merged.page * kPageLines + static_cast<unsigned>(std::countr_zero(merged.lines));
        bounds.last =
            merged.page * kPageLines + 63 - static_cast<unsigned>(std::countl_zero(merged.lines));
        put_page(out, merged.page - previous, merged.lines);
        previous = merged.page;
    }
    clear();
    return out;
}

bool line_set_touches(std::span<const std::byte> encoded, std::span<const LineRange> ranges)
{
    ByteCursor cursor(encoded);
    std::uint64_t page = 0;
    auto range = ranges.begin();
    while (!cursor.done()) {
        const std::uint64_t head = cursor.varint();
        page += head >> 2;
        const std::uint64_t lines = take_lines(cursor, static_cast<Form>(head & 3));
        const std::uint64_t first = page * 64;
        while (range != ranges.end() && range->last < first)
            ++range;
        for (auto at = range; at != ranges.end() && at->first <= first + 63; ++at) {
            const auto low = static_cast<unsigned>(std::max(at->first, first) - first);
            const auto high = static_cast<unsigned>(std::min(at->last, first + 63) - first);
            if (lines & run_of_lines(low, high - low + 1))
                return true;
        }
        if (range == ranges.end())
            return false;
    }
    return false;
}

} // namespace fencepost::trace
