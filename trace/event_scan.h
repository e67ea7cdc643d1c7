// SPDX-License-Identifier: GPL-2.0-or-later
// Walks the events of a trace in order, opening only the blocks that can match.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/block.h"
#include "trace/database.h"
#include "trace/event.h"
#include "trace/line_set.h"

namespace fencepost::trace {

inline constexpr std::uint8_t kAllKinds = (1u << kEventKinds) - 1;

inline constexpr std::uint8_t kind_bit(EventKind kind)
{
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
}

// An event passes when all that is given here holds for it.
struct EventFilter {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = UINT64_MAX;              // inclusive
    std::uint8_t kinds = kAllKinds;                   // kind_bit()s
    std::optional<std::vector<LineRange>> lines = {}; // it touches one of them
    std::optional<std::vector<SiteId>> sites = {};
    std::optional<std::vector<std::uint16_t>> vcpus = {};
    // Without, Event::value is 0 and a scan is about twice as fast.
    bool with_values = true;
};

class EventScan {
public:
    // Borrows the connection; `schema` is the name of the trace in it, normally "main".
    EventScan(sqlite3 *database, std::string schema, EventFilter filter);

    // Goes to the next block with a matching event; false at the end.
    bool next();

    // For look-ups of single events one after the other: where the scan has opened the event's
    // block already, selects that event and no other; next() must not be called any more.
    bool select_in_block(std::uint64_t seq);

    std::uint64_t first_seq() const { return first_seq_; }
    // All events of the block; `selected` says which match.
    std::span<const Event> events() const { return decoder_.events(); }
    std::span<const std::byte> wide_values() const { return decoder_.wide_values(); }
    // events() and wide_values(), to keep.
    OpenedBlock take() { return decoder_.take(); }
    // Ascending indexes of the matching events. Empty with all_selected(), the fast case.
    std::span<const std::uint32_t> selected() const { return selected_; }
    bool all_selected() const { return all_selected_; }

    // Calls visit(seq, event, wide_values) for every matching event from here to the end.
    template <typename Visit> void for_each(Visit &&visit)
    {
        while (next())
            visit_block(visit);
    }

    template <typename Visit> void visit_block(Visit &&visit) const
    {
        const std::span<const Event> all = events();
        if (all_selected_) {
            for (std::size_t i = 0; i < all.size(); ++i)
                visit(first_seq_ + i, all[i], wide_values());
        } else {
            for (const std::uint32_t i : selected_)
                visit(first_seq_ + i, all[i], wide_values());
        }
    }

private:
    bool open_block();
    bool any_shape_matches(std::span<const Event> shapes);
    bool touches_lines(const Event &event) const;
    void select();

    sqlite3 *database_;
    EventFilter filter_;
    Statement blocks_;
    Statement data_;
    BlockDecoder decoder_;
    std::uint64_t first_seq_ = 0;
    bool all_selected_ = false;
    bool all_shapes_match_ = false;
    std::vector<bool> shape_matches_;
    std::vector<std::uint32_t> selected_;
};

} // namespace fencepost::trace
