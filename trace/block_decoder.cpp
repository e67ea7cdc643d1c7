// SPDX-License-Identifier: GPL-2.0-or-later
// See block.h. Lengths are checked for a whole column at once, so that the loop over the events
// has no checks and no way to leave its buffers.
#include "trace/block.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/digest.h"
#include "base/error.h"
#include "trace/byte_cursor.h"

namespace fencepost::trace {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kShapeLimit = 3 + kMaxBlockEvents * (4 + 3 + 5 + 5);
constexpr std::size_t kLineLimit = 2 * kMaxBlockEvents * (10 + kWord);
constexpr std::size_t kPositionLimit = kMaxBlockEvents * (2 + 1 + kWord);

constexpr std::array<std::uint64_t, kWord + 1> kLowBytes = {0,
                                                            0xff,
                                                            0xffff,
                                                            0xffffff,
                                                            0xffffffff,
                                                            0xffffffffff,
                                                            0xffffffffffff,
                                                            0xffffffffffffff,
                                                            0xffffffffffffffff};

std::span<const std::uint8_t> as_octets(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size()};
}

std::uint64_t word_at(const std::byte *bytes)
{
    std::uint64_t word;
    std::memcpy(&word, bytes, kWord);
    return word;
}

} // namespace

std::span<const Event> BlockDecoder::open_shapes(std::span<const std::byte> shapes)
{
    raw_shapes_ = decompressor_.decompress(shapes, kShapeLimit, shape_bytes_);
    decode_shapes(raw_shapes_, shapes_);
    return shapes_;
}

bool BlockDecoder::touches(std::span<const std::byte> lines, std::span<const LineRange> ranges)
{
    return line_set_touches(decompressor_.decompress(lines, kLineLimit, line_bytes_), ranges);
}

OpenedBlock BlockDecoder::take()
{
    OpenedBlock block;
    events_.resize(count_);
    block.events.swap(events_);
    if (!values_.empty()) {
        value_bytes_.resize(values_.size());
        block.wide_values.swap(value_bytes_);
    }
    values_ = {};
    count_ = 0;
    return block;
}

void BlockDecoder::check_shape_indexes() const
{
    unsigned highest = 0;
    if (shape_high_.empty()) {
        for (const std::uint8_t low : shape_low_)
            highest = std::max<unsigned>(highest, low);
    } else {
        for (std::size_t i = 0; i < shape_low_.size(); ++i)
            highest = std::max(highest, shape_of(i));
    }
    if (highest >= shapes_.size())
        fail(ErrorKind::trace, "an event has shape {} of {}", highest, shapes_.size());
}

void BlockDecoder::decode(const BlockParts &parts, bool with_values)
{
    if (parts.event_count == 0 || parts.event_count > kMaxBlockEvents)
        fail(ErrorKind::trace, "it claims {} events", parts.event_count);
    const auto lines = decompressor_.decompress(parts.lines, kLineLimit, line_bytes_);
    const auto positions =
        decompressor_.decompress(parts.positions, kPositionLimit, position_bytes_, kWord);
    if (Digest().add_bytes(raw_shapes_).add_bytes(lines).add_bytes(positions).hex() != parts.digest)
        fail(ErrorKind::trace, "its digest does not match");

    count_ = parts.event_count;
    ByteCursor cursor(positions);
    shape_low_ = as_octets(cursor.take(count_));
    shape_high_ = shapes_.size() > 256 ? as_octets(cursor.take(count_)) : shape_low_.first(0);
    check_shape_indexes();

    std::vector<std::uint32_t> occurrences(shapes_.size());
    for (std::size_t i = 0; i < count_; ++i)
        ++occurrences[shape_of(i)];
    std::size_t addressed = 0;
    std::size_t stored = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
        addressed += shapes_[i].has_address() ? occurrences[i] : 0;
        stored += shapes_[i].is_store() ? std::size_t{occurrences[i]} * shapes_[i].size : 0;
    }
    const auto widths = as_octets(cursor.take(addressed));
    if (std::ranges::any_of(widths, [](std::uint8_t width) { return width > kWord; }))
        fail(ErrorKind::trace, "an address takes more than {} bytes", kWord);
    const auto residual_bytes = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
    const auto residuals = cursor.take(residual_bytes);
    if (!cursor.done())
        fail(ErrorKind::trace, "bytes are left after its addresses");
    if (events_.size() < count_)
        events_.resize(count_);
    decode_events(widths, residuals.data());

    values_ = {};
    if (!with_values)
        return;
    const auto bytes = decompressor_.decompress(parts.stored_values, stored, value_bytes_, kWord);
    if (bytes.size() != stored)
        fail(ErrorKind::trace, "it has {} bytes of values for stores of {} bytes", bytes.size(),
             stored);
    if (Digest().add_bytes(bytes).hex() != parts.value_digest)
        fail(ErrorKind::trace, "the digest of its values does not match");
    fill_values(bytes);
}

// The inverse of BlockEncoder::add_address.
void BlockDecoder::decode_events(std::span<const std::uint8_t> widths, const std::byte *residuals)
{
    steps_.assign(shapes_.size(), 0);
    std::uint64_t address = 0;
    const std::uint8_t *width = widths.data();
    for (std::size_t i = 0; i < count_; ++i) {
        const std::uint32_t shape = shape_of(i);
        Event &event = events_[i];
        event = shapes_[shape];
        if (!event.has_address())
            continue;
        const std::uint64_t residual = word_at(residuals) & kLowBytes[*width];
        residuals += *width++;
        steps_[shape] += unzigzag(residual);
        address += steps_[shape];
        event.address = address;
    }
}

void BlockDecoder::fill_values(std::span<const std::byte> bytes)
{
    values_ = bytes;
    std::size_t at = 0;
    for (Event &event : std::span(events_).first(count_)) {
        if (!event.is_store())
            continue;
        event.value = event.size <= kWord ? word_at(bytes.data() + at) & kLowBytes[event.size] : at;
        at += event.size;
    }
}

} // namespace fencepost::trace
