// SPDX-License-Identifier: GPL-2.0-or-later
// When events happened, and in which threads: beside the events, because few ask for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/compression.h"
#include "trace/database.h"

namespace fencepost::trace {

struct EventMoment {
    std::uint64_t time = 0;   // how many instructions the machine had executed
    std::uint32_t thread = 0; // dense from 1; 0 = of no thread

    bool operator==(const EventMoment &) const = default;
};

// Writes the rows of table `event_moment`. The connection must outlive it.
class MomentWriter {
public:
    explicit MomentWriter(sqlite3 *database);

    void add(std::span<const EventMoment> moments);
    bool empty() const { return moments_.empty(); }
    // Of the block that begins at `first_seq`: all that were added since the last one, if any.
    // Gives how many bytes that took.
    std::size_t write_block(std::uint64_t first_seq);

private:
    Statement add_row_;
    Compressor compressor_;
    std::vector<EventMoment> moments_;
};

// Reads the moments of one block after the other. The connection must outlive it.
class MomentReader {
public:
    MomentReader(sqlite3 *database, const std::string &schema);

    // Of the events of the block that begins at `first_seq`; empty where the recording did not
    // tell. Borrowed until it is asked for another block. Damage is an Error(trace).
    std::span<const EventMoment> of_block(std::uint64_t first_seq, std::size_t event_count);

private:
    void decode(std::span<const std::byte> times, std::span<const std::byte> threads,
                std::string_view digest, std::size_t event_count);

    sqlite3 *database_;
    std::string query_; // empty: this trace has no such table
    Decompressor decompressor_;
    std::vector<std::byte> time_bytes_;
    std::vector<std::byte> thread_bytes_;
    std::vector<EventMoment> moments_;
    std::optional<std::uint64_t> first_seq_;
};

} // namespace fencepost::trace
