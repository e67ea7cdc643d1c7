// SPDX-License-Identifier: GPL-2.0-or-later
// See event_scan.h. From cheap to dear: the row's numbers (in SQL), its set of lines, its shapes,
// and only then its data, which a second statement fetches.
#include "trace/event_scan.h"

#include <algorithm>

#include "base/error.h"

namespace fencepost::trace {

namespace {

std::string block_query(const std::string &schema)
{
    const std::string table = quoted_name(schema) + ".event_block";
    return "SELECT first_seq, event_count, shapes, lines FROM " + table +
           " WHERE first_seq >= (SELECT coalesce(max(first_seq), 0) FROM " + table +
           " WHERE first_seq <= ?1) AND first_seq <= ?2 AND kinds & ?3"
           " AND (NOT ?4 OR (min_line <= ?6 AND max_line >= ?5)) ORDER BY first_seq";
}

std::string data_query(const std::string &schema, bool with_values)
{
    return std::string("SELECT digest, value_digest, positions, ") +
           (with_values ? "stored_values" : "NULL") + " FROM " + quoted_name(schema) +
           ".event_block WHERE first_seq = ?1";
}

// SQLite's integers are signed; no trace has that many events or lines.
std::int64_t clamped(std::uint64_t number)
{
    return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
}

template <typename T> void sort_unique(std::optional<std::vector<T>> &values)
{
    if (!values)
        return;
    std::ranges::sort(*values);
    values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Sorted and disjoint, as line_set_touches() wants them.
void normalise(std::vector<LineRange> &ranges)
{
    std::erase_if(ranges, [](const LineRange &range) { return range.first > range.last; });
    std::ranges::sort(ranges, {}, &LineRange::first);
    std::size_t kept = 0;
    for (const LineRange &range : ranges) {
        if (kept && range.first <= ranges[kept - 1].last)
            ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
        else
            ranges[kept++] = range;
    }
    ranges.resize(kept);
}

} // namespace

EventScan::EventScan(sqlite3 *database, std::string schema, EventFilter filter)
    : database_(database), filter_(std::move(filter)), blocks_(database, block_query(schema)),
      data_(database, data_query(schema, filter_.with_values))
{
    sort_unique(filter_.sites);
    sort_unique(filter_.vcpus);
    LineRange bounds;
    if (filter_.lines) {
        normalise(*filter_.lines);
        if (filter_.lines->empty())
            filter_.kinds = 0;
        else
            bounds = {filter_.lines->front().first, filter_.lines->back().last};
    }
    blocks_.bind(1, clamped(filter_.first_seq))
        .bind(2, clamped(filter_.last_seq))
        .bind(3, std::int64_t{filter_.kinds})
        .bind(4, std::int64_t{filter_.lines.has_value()})
        .bind(5, clamped(bounds.first))
        .bind(6, clamped(bounds.last));
}

bool EventScan::next()
{
    while (blocks_.step()) {
        first_seq_ = blocks_.number(0);
        try {
            if (open_block())
                return true;
        } catch (const Error &error) {
            if (error.kind() != ErrorKind::trace)
                throw;
            fail(ErrorKind::trace, "the block of events at seq {} of {} is damaged: {}", first_seq_,
                 file_of(database_), error.what());
        }
    }
    return false;
}

bool EventScan::select_in_block(std::uint64_t seq)
{
    if (seq < first_seq_ || seq - first_seq_ >= events().size())
        return false;
    all_selected_ = false;
    selected_.assign(1, static_cast<std::uint32_t>(seq - first_seq_));
    return true;
}

bool EventScan::open_block()
{
    if (filter_.lines && !decoder_.touches(blocks_.blob(3), *filter_.lines))
        return false;
    if (!any_shape_matches(decoder_.open_shapes(blocks_.blob(2))))
        return false;
    const std::uint64_t count = blocks_.number(1);
    if (count == 0 || count > kMaxBlockEvents || first_seq_ > INT64_MAX - kMaxBlockEvents)
        fail(ErrorKind::trace, "it claims {} events", count);
    if (filter_.first_seq >= first_seq_ + count)
        return false;

    data_.reset();
    data_.bind(1, first_seq_);
    if (!data_.step())
        fail(ErrorKind::trace, "its data is missing");
    decoder_.decode({.event_count = static_cast<std::uint32_t>(count),
                     .digest = data_.text(0),
                     .value_digest = data_.text(1),
                     .lines = blocks_.blob(3),
                     .positions = data_.blob(2),
                     .stored_values = data_.blob(3)},
                    filter_.with_values);
    data_.reset();
    select();
    return all_selected_ || !selected_.empty();
}

bool EventScan::any_shape_matches(std::span<const Event> shapes)
{
    shape_matches_.assign(shapes.size(), false);
    std::size_t matching = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Event &shape = shapes[i];
        const bool matches =
            (filter_.kinds & kind_bit(shape.kind)) && (!filter_.lines || shape.has_address()) &&
            (!filter_.sites || std::ranges::binary_search(*filter_.sites, shape.site)) &&
            (!filter_.vcpus || std::ranges::binary_search(*filter_.vcpus, shape.vcpu));
        shape_matches_[i] = matches;
        matching += matches;
    }
    all_shapes_match_ = matching == shapes.size();
    return matching > 0;
}

bool EventScan::touches_lines(const Event &event) const
{
    const auto range =
        std::ranges::lower_bound(*filter_.lines, event.first_line(), {}, &LineRange::last);
    return range != filter_.lines->end() && range->first <= event.last_line();
}

void EventScan::select()
{
    const std::span<const Event> all = events();
    const std::uint64_t after = first_seq_ + all.size();
    selected_.clear();
    all_selected_ = all_shapes_match_ && !filter_.lines && filter_.first_seq <= first_seq_ &&
                    filter_.last_seq >= after - 1;
    if (all_selected_)
        return;
    const auto begin = filter_.first_seq > first_seq_ ? filter_.first_seq - first_seq_ : 0;
    const auto end = filter_.last_seq >= after ? all.size() : filter_.last_seq - first_seq_ + 1;
    for (std::uint64_t i = begin; i < end; ++i)
        if (shape_matches_[decoder_.shape_of(i)] && (!filter_.lines || touches_lines(all[i])))
            selected_.push_back(static_cast<std::uint32_t>(i));
}

} // namespace fencepost::trace
