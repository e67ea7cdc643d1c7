// SPDX-License-Identifier: GPL-2.0-or-later
// What is in flight at a crash point, as values that outlive the walk: the stores in order, and
// which parts of them a state has.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "replayer/image/state_images.h"

namespace fencepost::image {

inline constexpr std::uint64_t kNoFlush = UINT64_MAX;

struct InFlightPart {
    std::uint64_t line = 0;
    std::uint64_t value = 0;
    std::uint32_t store = 0; // InFlightStores::stores()
    std::uint8_t offset = 0; // in the line
    std::uint8_t size = 0;
    // The flush that waits for a fence to guarantee it; of a non-temporal store itself.
    std::uint64_t flush_seq = kNoFlush;
};

// Which parts are in PM, by their place in InFlightStores::parts.
using PartChoice = std::vector<bool>;

// If a set of parts is legal, so is what is left of it without its last stores, and what it becomes
// with the first stores of those that it lacks: whatever must be there before a part was executed
// before it (a run is alone on its lines).
class InFlightStores {
public:
    explicit InFlightStores(const states::ItemTable &items);

    // Both in the order in which they were executed. A run of lines that is one item
    // (states::Item::Kind::run) is one store: its first.
    std::span<const trace::EventRef> stores() const { return stores_; }
    std::span<const InFlightPart> parts() const { return parts_; }

    // Of a state at the same crash point. `items`: those that this was made from.
    PartChoice parts_of(const states::StateView &state, const states::ItemTable &items) const;
    // The lines that hold one of the chosen parts. `guaranteed(line)`: the bytes below them.
    template <typename Guaranteed>
    std::vector<LineContent> lines(const PartChoice &chosen, Guaranteed &&guaranteed) const
    {
        std::vector<LineContent> found;
        for (const std::uint32_t number : by_line_) {
            if (!chosen[number])
                continue;
            const InFlightPart &part = parts_[number];
            if (found.empty() || found.back().line != part.line) {
                found.push_back({.line = part.line});
                std::memcpy(found.back().bytes.data(), guaranteed(part.line), trace::kLineBytes);
            }
            std::memcpy(found.back().bytes.data() + part.offset, &part.value, part.size);
        }
        return found;
    }

private:
    std::vector<trace::EventRef> stores_;
    std::vector<InFlightPart> parts_;
    std::vector<std::uint32_t> by_line_; // parts, line by line as the crash point has them
};

// A state of a crash point whose walk may have gone on.
struct StateStores {
    std::shared_ptr<const InFlightStores> in_flight;
    PartChoice present;
};

// Stores of which a part is there (or not), in order, of a kind that was not there before:
// `is_new` is asked about each part's store.
std::vector<trace::EventRef>
first_of_each_kind(const StateStores &state, bool present,
                   const std::function<bool(const trace::EventRef &)> &is_new);

} // namespace fencepost::image
