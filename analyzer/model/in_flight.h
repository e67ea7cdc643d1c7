// SPDX-License-Identifier: GPL-2.0-or-later
// What has been written to PM and is not yet guaranteed: lines and their pieces, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/guarantees.h"
#include "analyzer/model/line_index.h"
#include "analyzer/model/piece.h"

namespace fencepost::model {

// Which pieces of a line can be in PM without which others (docs/explanation/persistence-model.md).
enum class Order : std::uint8_t {
    units, // cached pieces of a line in order; all pieces of a unit in order
    line,  // all pieces of a line in order, each store as a whole
};

struct InFlightLine {
    std::uint64_t line = 0;
    std::uint32_t first = kNone; // pieces: indexes for InFlight::piece()
    std::uint32_t last = kNone;
    std::uint32_t cached = 0; // how many pieces
    std::uint32_t non_temporal = 0;
    std::uint32_t previous = kNone; // lines, in the order in which they came to be in flight
    std::uint32_t next = kNone;
    LastFlush last_flush = {};
    bool changed = false; // this number, since InFlight::forget_changes()

    std::uint32_t pieces() const { return cached + non_temporal; }
    bool mixed() const { return cached != 0 && non_temporal != 0; }
};

// Pieces stand in one array in the order of their stores. Mostly a fence settles all of them and
// the array starts again from its beginning; what survives is moved together when more than half
// of the array is settled. So memory is proportional to what was in flight at most.
class InFlight {
public:
    explicit InFlight(Order order) : order_(order) {}

    Order order() const { return order_; }

    std::uint32_t find(std::uint64_t line) const
    {
        if (line == recent_line_)
            return recent_;
        return index_.find(line);
    }
    const InFlightLine &line(std::uint32_t number) const { return lines_[number]; }
    const Piece &piece(std::uint32_t index) const { return pieces_[index]; }

    // Lines from the one that has been in flight longest; kNone ends the chain.
    std::uint32_t first_line() const { return first_; }
    std::size_t line_count() const { return line_count_; }
    std::size_t piece_count() const { return piece_count_; }
    std::size_t cached_count() const { return cached_count_; }
    std::size_t non_temporal_count(std::uint16_t vcpu) const
    {
        return vcpu < non_temporal_.size() ? non_temporal_[vcpu] : 0;
    }

    // What Guarantees asks; a line that has left flight has nothing.
    std::uint64_t line_of(std::uint32_t number) const { return lines_[number].line; }
    bool has_cached(std::uint32_t number) const { return lines_[number].cached != 0; }
    bool has_cached_before(std::uint32_t number, std::uint64_t seq) const;
    bool has_non_temporal(std::uint32_t number) const { return lines_[number].non_temporal != 0; }
    const LastFlush &last_flush(std::uint32_t number) const { return lines_[number].last_flush; }
    void note_flush(std::uint32_t number, const LastFlush &flush)
    {
        lines_[number].last_flush = flush;
    }
    bool is_flushed_by(std::uint16_t vcpu, std::uint32_t number) const
    {
        const InFlightLine &line = lines_[number];
        return line.last_flush.vcpu == vcpu && line.last_flush.seq > pieces_[line.last].seq;
    }
    template <typename Visit> void for_each_line(Visit &&visit)
    {
        for (std::uint32_t number = first_; number != kNone;) {
            const std::uint32_t next = lines_[number].next;
            visit(number);
            number = next;
        }
    }

    // Calls visit(piece) for the pieces of a line in order.
    template <typename Visit> void for_each_piece(const InFlightLine &line, Visit &&visit) const
    {
        for (std::uint32_t at = line.first; at != kNone; at = pieces_[at].next)
            visit(pieces_[at]);
    }

    // Returns the line's number.
    std::uint32_t add(std::uint64_t line, const Piece &piece);
    // Takes out of flight what is covered and what must have come before it. A line that has no
    // piece left is gone; its number may be given to another.
    void settle(std::uint32_t number, const Covered &covered);
    // A piece that is guaranteed as soon as it is written; settle what is before it in its unit
    // first.
    void pass(std::uint64_t line, const Piece &piece) { settled_.push_back({line, piece}); }

    // Pieces that became guaranteed since clear_settled(); those of one unit are in order.
    std::span<const SettledPiece> settled() const { return settled_; }
    void clear_settled() { settled_.clear(); }
    // Numbers of lines that got or lost pieces since forget_changes(), each once. A line that lost
    // its last piece is among them; its number may stand for another line by now.
    std::span<const std::uint32_t> changed() const { return changed_; }
    void forget_changes();

private:
    std::uint32_t open(std::uint64_t line);
    void close(std::uint32_t number);
    void settle_prefix(std::uint32_t number, std::uint64_t before);
    void settle_by_order(std::uint32_t number, const Covered &covered);
    void take_out(InFlightLine &line, const Piece &piece);
    void mark_changed(std::uint32_t number);
    void reclaim();

    Order order_;
    std::vector<Piece> pieces_;
    std::vector<InFlightLine> lines_;
    std::vector<std::uint32_t> free_lines_;
    LineIndex index_;
    std::uint64_t recent_line_ = UINT64_MAX;
    std::uint32_t recent_ = kNone;
    std::uint32_t first_ = kNone;
    std::uint32_t last_ = kNone;
    std::size_t line_count_ = 0;
    std::size_t piece_count_ = 0;
    std::size_t cached_count_ = 0;
    std::vector<std::size_t> non_temporal_; // by vCPU
    std::vector<SettledPiece> settled_;
    std::vector<std::uint32_t> changed_;
    std::vector<std::uint32_t> chain_; // scratch of settle_by_order
    std::vector<bool> chosen_;
};

} // namespace fencepost::model
