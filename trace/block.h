// SPDX-License-Identifier: GPL-2.0-or-later
// A block of events as it stands in the file, how it is made and how it is opened.
// The encoding is described in docs/explanation/trace-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/compression.h"
#include "trace/event.h"
#include "trace/line_set.h"
#include "trace/shape_table.h"

namespace fencepost::trace {

inline constexpr std::size_t kMaxBlockEvents = 65536;

// The fields are the columns of table `event_block`.
struct EncodedBlock {
    std::uint32_t event_count = 0;
    std::uint8_t kinds = 0;
    bool touches_lines = false;
    LineRange bounds; // when it touches lines
    std::string digest;
    std::string value_digest;
    std::vector<std::byte> shapes;
    std::vector<std::byte> lines;
    std::vector<std::byte> positions;
    std::vector<std::byte> stored_values;
    // Not in the file: how often each shape occurs, for the counters per site.
    std::vector<std::pair<Event, std::uint32_t>> shape_counts;
};

class BlockEncoder {
public:
    BlockEncoder();

    // Takes as many events as fit and returns how many. Checks each: a malformed event is our bug.
    std::size_t add(std::span<const Event> events, std::span<const std::byte> wide_values);
    bool full() const { return count_ == kMaxBlockEvents; }
    bool empty() const { return count_ == 0; }
    // Starts a new block.
    EncodedBlock finish();

private:
    void add_address(const Event &event, std::uint32_t shape);
    void add_value(const Event &event, std::span<const std::byte> wide_values);
    std::vector<std::byte> join_positions() const;

    Compressor compressor_;
    ShapeTable shapes_;
    LineSetBuilder lines_;
    std::size_t count_ = 0;
    std::vector<std::uint8_t> shape_low_;
    std::vector<std::uint8_t> shape_high_;
    std::vector<std::uint32_t> shape_counts_;
    std::vector<std::uint64_t> steps_; // per shape: its last distance from the event before it
    std::uint64_t previous_address_ = 0;
    std::vector<std::uint8_t> widths_; // bytes of each address residual
    std::size_t width_count_ = 0;
    std::vector<std::byte> residuals_;
    std::size_t residual_bytes_ = 0;
    std::vector<std::byte> values_;
    std::size_t value_bytes_ = 0;
};

// What a reader has of a block; the spans are borrowed.
struct BlockParts {
    std::uint32_t event_count = 0;
    std::string_view digest;
    std::string_view value_digest;
    std::span<const std::byte> lines;
    std::span<const std::byte> positions;
    std::span<const std::byte> stored_values;
};

// An opened block that outlives its decoder's next one.
struct OpenedBlock {
    std::vector<Event> events;
    std::vector<std::byte> wide_values;
};

// Opens blocks of untrusted files: damage is an Error(trace) whose message says what is wrong with
// the block, to be completed with where the block is. Buffers are reused from block to block.
class BlockDecoder {
public:
    // Step 1, cheap: what kinds of events the block has.
    std::span<const Event> open_shapes(std::span<const std::byte> shapes);
    // Step 1, cheap: whether an event touches a line in `ranges`.
    bool touches(std::span<const std::byte> lines, std::span<const LineRange> ranges);
    // Step 2, after open_shapes() of the same block. Without values, those of stores are 0.
    void decode(const BlockParts &parts, bool with_values);

    std::span<const Event> events() const { return std::span(events_).first(count_); }
    std::span<const std::byte> wide_values() const { return values_; }
    // Without copying; events() and wide_values() are empty then.
    OpenedBlock take();
    // The shape of each event, as an index of what open_shapes() returned.
    std::uint32_t shape_of(std::size_t index) const
    {
        return shape_low_[index] | (shape_high_.empty() ? 0u : shape_high_[index] * 256u);
    }

private:
    void check_shape_indexes() const;
    void decode_events(std::span<const std::uint8_t> widths, const std::byte *residuals);
    void fill_values(std::span<const std::byte> bytes);

    Decompressor decompressor_;
    std::vector<Event> shapes_;
    std::vector<std::byte> shape_bytes_;
    std::vector<std::byte> line_bytes_;
    std::vector<std::byte> position_bytes_;
    std::vector<std::byte> value_bytes_;
    std::span<const std::byte> raw_shapes_;
    std::span<const std::uint8_t> shape_low_;
    std::span<const std::uint8_t> shape_high_;
    std::span<const std::byte> values_;
    std::vector<std::uint64_t> steps_;
    std::size_t count_ = 0;
    std::vector<Event> events_;
};

} // namespace fencepost::trace
