// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace holds, at a glance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace fencepost::trace {

struct FunctionCount {
    std::string function;
    std::string module;
    std::uint64_t stores = 0; // cached and non-temporal
    std::uint64_t flushes = 0;
    std::uint64_t fences = 0;
    std::uint64_t volatile_flushes = 0;
};

struct OperationSummary {
    std::int64_t number = 0;
    std::string text;
    std::uint64_t first_seq = 0;
    std::optional<std::uint64_t> last_seq; // none: it did not end
};

struct Summary {
    Recording recording;
    std::map<std::string, std::string> meta;
    std::vector<Region> regions;
    // By kind, then by subkind; only what occurs.
    std::map<std::string, std::map<std::string, std::uint64_t>> events;
    std::uint64_t stored_bytes = 0;
    std::uint64_t vcpus = 0; // that caused an event
    // As in table `interval_site`, under its two rules.
    std::uint64_t fence_intervals = 0;
    std::uint64_t architectural_fence_intervals = 0;
    std::uint64_t operations = 0;
    std::uint64_t unfinished_operations = 0;
    std::vector<OperationSummary> first_operations;
    std::uint64_t system_calls = 0;
    std::uint64_t processes = 0;
    std::uint64_t sites = 0;
    std::uint64_t named_sites = 0;
    std::uint64_t located_sites = 0;
    std::uint64_t stacks = 0;
    std::uint64_t symbols = 0;
    std::vector<FunctionCount> most_stores;
    std::vector<FunctionCount> most_flushes;
    std::vector<DataQuality> quality;
    std::uint64_t file_bytes = 0;

    // complete, incomplete, or not checked: what record's own check said.
    std::string_view completeness() const;
    double bytes_per_event() const;
};

// One pass over the events. At most `limit` functions and operations are listed.
Summary summarise(const TraceReader &reader, std::size_t limit = 10);

} // namespace fencepost::trace
