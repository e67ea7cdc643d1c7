// SPDX-License-Identifier: GPL-2.0-or-later
// See block.h. One pass over the events fills the columns; finish() compresses them.
#include "trace/block.h"

#include <bit>
#include <cstring>

#include "base/digest.h"
#include "base/error.h"
#include "trace/byte_cursor.h"

namespace fencepost::trace {

namespace {

// Levels 2 to 5 save at most 5 % on these columns and cost up to half the speed (tests/bench).
constexpr int kLevel = 1;

void append(std::vector<std::byte> &out, const void *bytes, std::size_t count)
{
    const auto *first = static_cast<const std::byte *>(bytes);
    out.insert(out.end(), first, first + count);
}

} // namespace

BlockEncoder::BlockEncoder()
    : compressor_(kLevel), shape_low_(kMaxBlockEvents), shape_high_(kMaxBlockEvents),
      widths_(kMaxBlockEvents),
      // Words are copied whole and then counted by their width: one word of room at the end.
      residuals_(kMaxBlockEvents * sizeof(std::uint64_t) + sizeof(std::uint64_t)),
      values_(kMaxBlockEvents * kMaxStoreBytes + kMaxStoreBytes)
{
}

std::size_t BlockEncoder::add(std::span<const Event> events, std::span<const std::byte> wide_values)
{
    const std::size_t taken = std::min(events.size(), kMaxBlockEvents - count_);
    for (const Event &event : events.first(taken)) {
        const std::uint32_t shape = shapes_.number_of(event);
        if (shape == steps_.size()) {
            steps_.push_back(0);
            shape_counts_.push_back(0);
        }
        ++shape_counts_[shape];
        shape_low_[count_] = static_cast<std::uint8_t>(shape);
        shape_high_[count_] = static_cast<std::uint8_t>(shape >> 8);
        ++count_;
        if (event.has_address())
            add_address(event, shape);
        if (event.is_store())
            add_value(event, wide_values);
    }
    return taken;
}

// An instruction tends to be as far from the one before it as it was the last time: the next
// element of a copy loop, the next field of a structure, the flush of the line just written.
void BlockEncoder::add_address(const Event &event, std::uint32_t shape)
{
    const std::uint64_t step = event.address - previous_address_;
    const std::uint64_t residual = zigzag(step - steps_[shape]);
    steps_[shape] = step;
    previous_address_ = event.address;
    const auto width = static_cast<std::uint8_t>((std::bit_width(residual) + 7) / 8);
    widths_[width_count_++] = width;
    std::memcpy(residuals_.data() + residual_bytes_, &residual, sizeof residual);
    residual_bytes_ += width;

    const std::uint64_t first = event.first_line();
    const std::uint64_t last = event.last_line();
    lines_.add(first);
    if (last != first)
        lines_.add(last);
}

void BlockEncoder::add_value(const Event &event, std::span<const std::byte> wide_values)
{
    std::byte *out = values_.data() + value_bytes_;
    if (event.size <= sizeof event.value) {
        std::memcpy(out, &event.value, sizeof event.value);
    } else {
        CHECK(event.value <= wide_values.size() && event.size <= wide_values.size() - event.value,
              "a wide store whose bytes are not in its buffer");
        std::memcpy(out, wide_values.data() + event.value, event.size);
    }
    value_bytes_ += event.size;
}

std::vector<std::byte> BlockEncoder::join_positions() const
{
    std::vector<std::byte> positions;
    positions.reserve(2 * count_ + width_count_ + residual_bytes_);
    append(positions, shape_low_.data(), count_);
    if (shapes_.size() > 256)
        append(positions, shape_high_.data(), count_);
    append(positions, widths_.data(), width_count_);
    append(positions, residuals_.data(), residual_bytes_);
    return positions;
}

EncodedBlock BlockEncoder::finish()
{
    CHECK(!empty(), "a block without events");
    EncodedBlock block;
    block.event_count = static_cast<std::uint32_t>(count_);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
        const Event &shape = shapes_.shapes()[i];
        block.kinds |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(shape.kind));
        block.shape_counts.emplace_back(shape, shape_counts_[i]);
    }
    block.touches_lines = !lines_.empty();
    const std::vector<std::byte> shapes = shapes_.encode();
    const std::vector<std::byte> lines = lines_.encode(block.bounds);
    const std::vector<std::byte> positions = join_positions();
    const auto values = std::span<const std::byte>(values_).first(value_bytes_);
    block.digest = Digest().add_bytes(shapes).add_bytes(lines).add_bytes(positions).hex();
    block.value_digest = Digest().add_bytes(values).hex();
    block.shapes = compressor_.compress(shapes);
    block.lines = compressor_.compress(lines);
    block.positions = compressor_.compress(positions);
    block.stored_values = compressor_.compress(values);

    shapes_.clear();
    steps_.clear();
    shape_counts_.clear();
    count_ = width_count_ = residual_bytes_ = value_bytes_ = 0;
    previous_address_ = 0;
    return block;
}

} // namespace fencepost::trace
