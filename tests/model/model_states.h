// SPDX-License-Identifier: GPL-2.0-or-later
// The states that a model of analyzer/model has right now, as sets of pieces like the reference's.
#pragma once

#include <vector>

#include "analyzer/model/line_choices.h"
#include "tests/model/reference_model.h"

namespace fencepost::model {

class ModelStates {
public:
    using PieceSet = ReferenceModel::PieceSet;
    using StateSet = ReferenceModel::StateSet;

    // `instructions`: by event of the trace, its number in the reference; empty: the same.
    explicit ModelStates(const ReferenceModel &reference,
                         std::span<const std::size_t> instructions = {})
        : reference_(reference), instructions_(instructions)
    {
    }

    // After each event.
    void note_settled(const InFlight &in_flight)
    {
        for (const SettledPiece &settled : in_flight.settled())
            settled_ |= bit_of(settled.line, settled.piece);
    }

    PieceSet settled() const { return settled_; }

    StateSet states(const InFlight &in_flight)
    {
        sets_.assign(1, settled_);
        for (std::uint32_t number = in_flight.first_line(); number != kNone;
             number = in_flight.line(number).next)
            add_line(in_flight, in_flight.line(number));
        StateSet states;
        for (const PieceSet set : sets_)
            states.set(set);
        listed_ = sets_.size();
        return states;
    }

    // How many states were listed last time: more than there are if one came twice.
    std::size_t listed() const { return listed_; }

    PieceSet bit_of(std::uint64_t line, const Piece &piece) const
    {
        const auto parts = reference_.parts();
        const std::size_t event = instructions_.empty() ? piece.seq : instructions_[piece.seq];
        for (std::size_t p = 0; p < parts.size(); ++p)
            if (parts[p].event == event && parts[p].unit == line * 8 + piece.unit())
                return PieceSet{1} << p;
        return 0;
    }

private:
    void add_line(const InFlight &in_flight, const InFlightLine &line)
    {
        for (Prefixes &unit : units_)
            unit.count = 0;
        in_flight.for_each_piece(line, [&](const Piece &piece) {
            // prefixes[k] = the first k pieces of the unit.
            Prefixes &unit = units_[piece.unit()];
            unit.sets[unit.count + 1] = unit.sets[unit.count] | bit_of(line.line, piece);
            ++unit.count;
        });
        choices_.assign(in_flight, line);
        products_.clear();
        for (std::uint64_t number = 0; number < choices_.count(); ++number) {
            const UnitCounts counts = choices_.at(number);
            PieceSet set = 0;
            for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
                set |= units_[unit].sets[counts[unit]];
            for (const PieceSet rest : sets_)
                products_.push_back(rest | set);
        }
        sets_.swap(products_);
    }

    struct Prefixes {
        std::uint32_t count = 0;
        std::array<PieceSet, ReferenceModel::kMaxPieces + 1> sets = {}; // sets[0] stays empty
    };

    const ReferenceModel &reference_;
    const std::span<const std::size_t> instructions_;
    PieceSet settled_ = 0;
    std::vector<PieceSet> sets_;
    std::vector<PieceSet> products_;
    std::array<Prefixes, kUnitsPerLine> units_;
    LineChoices choices_;
    std::size_t listed_ = 0;
};

} // namespace fencepost::model
