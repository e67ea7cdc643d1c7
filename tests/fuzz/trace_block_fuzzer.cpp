// SPDX-License-Identifier: GPL-2.0-or-later
// Valid blocks with some bytes changed behind valid checksums: refused, or decoded to events that
// encode and decode to themselves.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/digest.h"
#include "base/error.h"
#include "trace/block.h"
#include "trace/event_buffer.h"

using namespace fencepost;
using namespace fencepost::trace;

namespace {

using Bytes = std::vector<std::byte>;

struct RawBlock {
    std::uint32_t event_count = 0;
    std::array<Bytes, 4> parts; // shapes, lines, positions, values
};

// `sites` above 256 gives a block whose shape numbers have two bytes.
RawBlock valid_block(unsigned events, unsigned sites)
{
    EventBuffer buffer(events);
    const std::array<std::byte, kMaxStoreBytes> bytes = {std::byte{7}};
    for (unsigned i = 0; i < events; ++i) {
        Event event = {.address = i * i * 24ull, .site = 1 + i % sites};
        event.kind = static_cast<EventKind>(i % kEventKinds);
        if (event.is_store() || event.kind == EventKind::load)
            event.size = static_cast<std::uint8_t>(1 + i % kMaxStoreBytes);
        if (event.is_store())
            buffer.push_store(event, bytes.data());
        else
            buffer.push(event);
    }
    BlockEncoder encoder;
    encoder.add(buffer.events(), buffer.wide_values());
    const EncodedBlock block = encoder.finish();
    Decompressor decompressor;
    RawBlock raw;
    raw.event_count = block.event_count;
    const std::array<const Bytes *, 4> frames = {&block.shapes, &block.lines, &block.positions,
                                                 &block.stored_values};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        Bytes room;
        const auto contents = decompressor.decompress(*frames[i], 1 << 22, room);
        raw.parts[i].assign(contents.begin(), contents.end());
    }
    return raw;
}

// Four bytes an edit: which part and what to do, where (two bytes), and the new byte.
void edit(RawBlock &raw, std::span<const std::uint8_t> edits)
{
    for (; edits.size() >= 4; edits = edits.subspan(4)) {
        Bytes &part = raw.parts[edits[0] % 4];
        const std::size_t where = (edits[1] | edits[2] << 8) % (part.size() + 1);
        switch (edits[0] / 4 % 4) {
        case 0:
            part.resize(std::max(part.size(), where + 1));
            part[where] = static_cast<std::byte>(edits[3]);
            break;
        case 1:
            part.insert(part.begin() + static_cast<std::ptrdiff_t>(where),
                        static_cast<std::byte>(edits[3]));
            break;
        case 2:
            part.resize(where);
            break;
        default:
            raw.event_count += edits[3] - 128u;
        }
    }
}

EncodedBlock sealed(const RawBlock &raw)
{
    const auto &[shapes, lines, positions, values] = raw.parts;
    Compressor compressor(1);
    EncodedBlock block;
    block.event_count = raw.event_count;
    block.shapes = compressor.compress(shapes);
    block.lines = compressor.compress(lines);
    block.positions = compressor.compress(positions);
    block.stored_values = compressor.compress(values);
    block.digest = Digest().add_bytes(shapes).add_bytes(lines).add_bytes(positions).hex();
    block.value_digest = Digest().add_bytes(values).hex();
    return block;
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

void check_same(const BlockDecoder &first, const BlockDecoder &second)
{
    for (std::size_t i = 0; i < first.events().size(); ++i) {
        const auto before = value_of(first.events()[i], first.wide_values());
        const auto after = value_of(second.events()[i], second.wide_values());
        if (first.events()[i] != second.events()[i] || !std::ranges::equal(before, after))
            std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const std::array<RawBlock, 3> starts = {valid_block(1, 1), valid_block(60, 7),
                                                   valid_block(900, 300)};
    if (size == 0)
        return 0;
    RawBlock raw = starts[data[0] % starts.size()];
    edit(raw, std::span(data, size).subspan(1));
    const EncodedBlock block = sealed(raw);

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
    check_same(first, second);
    return 0;
}
