// SPDX-License-Identifier: GPL-2.0-or-later
// The events around a power failure in program order, and what became of each store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace fencepost::report {

enum class Fate : std::uint8_t {
    none,         // no store
    guaranteed,   // flushed and fenced before power failed
    persisted,    // in flight, and it is in PM
    partly,       // in flight, and part of it is
    lost,         // in flight, and it is not
    not_executed, // power failed before
};

// Names as they stand in JSON.
std::string_view name_of(Fate fate);
// An event, or stores one after the other by the same code to neighbouring places.
struct TimelineRow {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    std::uint64_t events = 1;
    trace::EventKind kind = trace::EventKind::store;
    std::string what;        // store, clwb, sfence, op_begin
    std::string code;        // function, offset, line as far as known; text of a marker
    std::string instruction; // disassembly
    std::uint64_t address = 0;
    std::string place; // pmem0+0x40
    std::string belongs_to =
        {}; // what the file system has there: "ext4: inode table, inode 12 (/a)"
    std::uint64_t size = 0;
    std::string before; // bytes in hexadecimal; empty: not shown
    std::string after;
    Fate fate = Fate::none;
    bool flushed = false;  // in flight, but flushed: a fence is missing
    std::string role = {}; // of a store that decides: absent, present; of a rule's event: at
    // Rows between this one and the one before it that are not shown.
    std::uint64_t skipped = 0;
};

struct Timeline {
    std::uint64_t crash_seq = 0; // power fails before this event; of a rule: behind the last row
    bool crashed = true;         // false: no power failed, a rule says something
    std::uint64_t epoch = 0;
    std::vector<TimelineRow> rows = {};
    std::uint64_t in_flight_stores = 0;
    std::uint64_t persisted_stores = 0; // of these, all or in part
};

// "flushed, no fence: lost"; empty where it says nothing.
std::string words_of(const TimelineRow &row);
// Bytes in hexadecimal as they are, or as text in quotes where all of them are printable.
std::string bytes_text(std::string_view hexadecimal);

} // namespace fencepost::report
