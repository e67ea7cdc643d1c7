// SPDX-License-Identifier: GPL-2.0-or-later
// What became of each store: when its lines were flushed, and by what it was guaranteed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "trace/event_scan.h"

namespace fencepost::tables {

struct StoreFate {
    std::uint64_t seq = 0;
    trace::Event store = {}; // without its value
    std::uint64_t epoch = 0;
    // The first flush of its line behind it; of a store to two lines the one that came last.
    // Nothing: all or part of it was not flushed before it was guaranteed, or the trace ended.
    std::optional<std::uint64_t> flushed = {};
    // The event that guaranteed the last byte of it; nothing: none did.
    std::optional<std::uint64_t> guaranteed = {};
    trace::Event guaranteed_by = {};
    std::uint64_t guaranteed_epoch = 0;
    std::uint64_t fences = 0; // that counted between the store and the event that guaranteed it
};

// One pass over a trace with the persistence model. Memory is what is in flight, and the stores of
// one block.
class StoreFates {
public:
    // `scan`: of all events.
    StoreFates(trace::EventScan scan, model::ModelKind kind, model::FenceRule rule);

    // Goes to the next block; false at the end. fates() are then those that it decided, in the
    // order in which they were guaranteed; at the end those of stores that never were, by seq.
    bool next();
    std::span<const StoreFate> fates() const { return fates_; }

private:
    struct Pending {
        StoreFate fate;
        std::uint64_t fences_before = 0;
        unsigned pieces = 0;    // in flight
        bool unflushed = false; // one that is no more in flight

        void flush(std::optional<std::uint64_t> seq);
    };
    void see(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values);
    void begin(std::uint64_t seq, const trace::Event &event);
    void note_flush(std::uint64_t seq, const trace::Event &event);
    void settle(const model::SettledPiece &settled, std::uint64_t seq, const trace::Event &event);
    std::optional<std::uint64_t> first_flush(std::uint64_t line, std::uint64_t after) const;
    void forget_flushes(std::span<const model::SettledPiece> settled);
    void give_up();

    trace::EventScan scan_;
    model::PersistenceModel model_;
    std::unordered_map<std::uint64_t, Pending> pending_; // by seq
    // Flushes of each line since it is in flight, ascending.
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> flushes_;
    std::vector<std::uint64_t> flushes_of_all_; // wbinvd, while anything is in flight
    std::uint64_t epoch_ = 0;
    std::uint64_t fences_ = 0;
    bool ended_ = false;
    std::vector<StoreFate> fates_;
};

} // namespace fencepost::tables
