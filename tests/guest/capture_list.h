// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture program says it did (tests/targets/capture), held against a trace event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace fencepost::guest {

struct CaptureRecord {
    unsigned line = 0; // in the program's source
    std::string kind;
    std::string subkind;
    std::uint64_t offset = 0; // in the area
    unsigned size = 0;
    bool atomic = false;
    std::string value; // bytes
};

std::vector<CaptureRecord> parse_capture_list(const std::string &text);

struct CapturedEvent {
    std::uint64_t seq = 0;
    trace::Event event;
    std::string value;
};

// Between the markers op_begin and op_end with this number, those that `wanted` says.
std::vector<CapturedEvent> captured_events(const trace::TraceReader &reader, std::int64_t number,
                                           const std::function<bool(const trace::Event &)> &wanted);

// One line a difference, the first few; empty when the trace has exactly what was done. `place`
// gives the physical address of an offset in the area.
std::vector<std::string>
differences(const std::vector<CaptureRecord> &done, const std::vector<CapturedEvent> &captured,
            const std::function<std::uint64_t(std::uint64_t offset)> &place);

} // namespace fencepost::guest
