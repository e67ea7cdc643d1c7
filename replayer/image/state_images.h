// SPDX-License-Identifier: GPL-2.0-or-later
// Crash states as bytes: follows a walk and tells each state's identity and the lines in which it
// differs from what is guaranteed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replayer/image/image_pair.h"
#include "replayer/states/state_walk.h"

namespace fencepost::image {

struct LineContent {
    std::uint64_t line = 0;
    std::array<std::byte, trace::kLineBytes> bytes = {};

    bool operator==(const LineContent &) const = default;
};

// A state's identity is that of its base (guaranteed or written) and, for each item that is at
// another level, the difference that makes. Differences of whole lines are computed once a crash
// point, so that a state is a sum; lines of non-temporal units are put together as needed.
class StateImages {
public:
    explicit StateImages(const InitialImage &initial) : initial_(initial), pair_(initial) {}

    // The calls of a StateListener. `settling`: as for ImagePair::apply().
    template <typename Settling>
    void event(const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight, Settling &&settling)
    {
        pair_.apply(event, wide_values, in_flight, settling);
    }
    void event(const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight)
    {
        pair_.apply(event, wide_values, in_flight, [](const model::SettledPiece &) {});
    }
    void crash_point(const states::ItemTable *items, const model::InFlight &in_flight);

    Hash128 hash(const states::StateView &state);
    // The lines of the state that hold something in flight, in the order of the items; a line may
    // happen to have the guaranteed contents. Replaces `lines`.
    void lines_in_flight(const states::StateView &state, std::vector<LineContent> &lines);
    // All lines that differ from the initial image, in ascending order.
    std::vector<LineContent> difference_from_initial(const states::StateView &state);

    ImagePair &images() { return pair_; }
    const InitialImage &initial() const { return initial_; }

private:
    // Levels of one cell's items that are not the base's.
    using Exceptions = std::span<const states::ItemLevel>;

    struct CellHashes {
        bool known = false;
        Hash128 guaranteed;
        Hash128 written;
    };

    const CellHashes &cell_hashes(std::uint32_t cell);
    Hash128 change(states::Base base, Exceptions exceptions);
    Hash128 chain_change(const states::Item &item, std::uint32_t number, std::uint64_t level);
    Hash128 run_change(const states::Item &item, std::uint32_t number, std::uint64_t level);
    void compose(const states::Cell &cell, states::Base base, Exceptions exceptions,
                 std::byte *content);
    void apply_units(const states::Cell &cell, const model::UnitCounts &counts, std::byte *content);

    const InitialImage &initial_;
    ImagePair pair_;
    const states::ItemTable *items_ = nullptr;
    const model::InFlight *in_flight_ = nullptr;
    Hash128 guaranteed_;
    Hash128 written_;
    std::vector<CellHashes> cells_;
    // By item: where its levels start in differences_, or kUnknown.
    std::vector<std::uint32_t> first_difference_;
    std::vector<Hash128> differences_; // against level 0
};

} // namespace fencepost::image
