// SPDX-License-Identifier: GPL-2.0-or-later
// Blocks with arbitrary contents behind valid checksums: refused, or decoded to events that encode
// and decode to themselves.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/digest.h"
#include "base/error.h"
#include "trace/block.h"

using namespace fencepost;
using namespace fencepost::trace;

namespace {

// The next part: two bytes of length, then the part.
std::span<const std::byte> take(std::span<const std::byte> &rest)
{
    std::uint16_t length = 0;
    if (rest.size() >= sizeof length) {
        std::memcpy(&length, rest.data(), sizeof length);
        rest = rest.subspan(sizeof length);
    }
    const auto part = rest.first(std::min<std::size_t>(length, rest.size()));
    rest = rest.subspan(part.size());
    return part;
}

void decode(BlockDecoder &decoder, const EncodedBlock &block)
{
    decoder.open_shapes(block.shapes);
    decoder.decode({.event_count = block.event_count,
                    .digest = block.digest,
                    .value_digest = block.value_digest,
                    .lines = block.lines,
                    .positions = block.positions,
                    .stored_values = block.stored_values},
                   true);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::span<const std::byte> rest(reinterpret_cast<const std::byte *>(data), size);
    const auto count_bytes = take(rest);
    const auto shapes = take(rest);
    const auto lines = take(rest);
    const auto positions = take(rest);
    Compressor compressor(1);
    EncodedBlock block;
    std::memcpy(&block.event_count, count_bytes.data(), std::min<std::size_t>(count_bytes.size(), 4));
    block.shapes = compressor.compress(shapes);
    block.lines = compressor.compress(lines);
    block.positions = compressor.compress(positions);
    block.stored_values = compressor.compress(rest);
    block.digest = Digest().add_bytes(shapes).add_bytes(lines).add_bytes(positions).hex();
    block.value_digest = Digest().add_bytes(rest).hex();

    BlockDecoder first;
    try {
        const LineRange ranges[] = {{3, 10}, {1000, 1 << 20}, {UINT64_MAX - 5, UINT64_MAX}};
        first.touches(block.lines, ranges);
        decode(first, block);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::trace)
            std::abort();
        return 0;
    }
    BlockEncoder encoder;
    if (encoder.add(first.events(), first.wide_values()) != first.events().size())
        std::abort();
    BlockDecoder second;
    decode(second, encoder.finish());
    for (std::size_t i = 0; i < first.events().size(); ++i) {
        const auto before = value_of(first.events()[i], first.wide_values());
        const auto after = value_of(second.events()[i], second.wide_values());
        if (first.events()[i] != second.events()[i] || !std::ranges::equal(before, after))
            std::abort();
    }
    return 0;
}
