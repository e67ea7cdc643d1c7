// SPDX-License-Identifier: GPL-2.0-or-later
// A part of a trace in which power may fail.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace fencepost::states {

// From one event to another, both included.
struct Span {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
};

// In order, apart from each other.
bool contains(const std::vector<Span> &spans, std::uint64_t seq);

// Crash points outside are left out; what was in flight before still counts.
struct Window {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = UINT64_MAX; // a crash point itself, so that no state before it is lost
    std::uint64_t first_epoch = 0;
    std::uint64_t last_epoch = UINT64_MAX;
    std::vector<Span> spans = {}; // none: all in between

    bool contains(std::uint64_t seq, std::uint64_t epoch) const
    {
        return seq >= first_seq && seq <= last_seq && epoch >= first_epoch && epoch <= last_epoch &&
               (spans.empty() || states::contains(spans, seq));
    }
};

// `seq:100-200`, `epoch:3-7`, `op:5` or `op:5-9` (operations by their number, until just after the
// last has returned), `checkpoint:1-2` (from one checkpoint marker to the other), of which the end
// may be left out: `seq:100-`; `function:NAME` (see function_window.h). What does not parse, or
// names what the trace does not have, is an Error(usage).
Window parse_window(std::string_view text, const trace::TraceReader &reader);
// Where the test begins: at the checkpoint `mark`, if the trace has one. Power does not fail
// before.
std::uint64_t first_crash_seq(const trace::TraceReader &reader);
// The part of it that needs no trace.
void check_window(std::string_view text);

} // namespace fencepost::states
