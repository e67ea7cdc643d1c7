// SPDX-License-Identifier: GPL-2.0-or-later
// See delta_file.h.
#include "replayer/image/delta_file.h"

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "trace/byte_cursor.h"
#include "trace/compression.h"

namespace fencepost::image {

using trace::kLineBytes;
using trace::put_varint;

namespace {

constexpr std::string_view kMagic = "FPIMGDLT";
constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kMostText = 4096;
constexpr std::uint64_t kMostRegions = 64;
// Unpacked: four devices of 1 GiB, each line changed.
constexpr std::size_t kLargest = std::size_t{5} << 30;

void put_text(std::vector<std::byte> &out, std::string_view text)
{
    put_varint(out, text.size());
    const auto *bytes = reinterpret_cast<const std::byte *>(text.data());
    out.insert(out.end(), bytes, bytes + text.size());
}

void put_word(std::vector<std::byte> &out, std::uint64_t word)
{
    for (unsigned i = 0; i < 8; ++i)
        out.push_back(static_cast<std::byte>(word >> 8 * i));
}

std::string take_text(trace::ByteCursor &in)
{
    const std::uint64_t size = in.varint();
    if (size > kMostText)
        fail(ErrorKind::trace, "it holds a text of {} bytes", size);
    const std::span<const std::byte> bytes = in.take(size);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

trace::Region take_region(trace::ByteCursor &in, trace::RegionId id, std::uint64_t above)
{
    trace::Region region;
    region.id = id;
    region.name = take_text(in);
    region.base = in.varint();
    region.size = in.varint();
    region.file = take_text(in);
    region.file_offset = in.varint();
    if (std::string digest = take_text(in); !digest.empty())
        region.initial_digest = std::move(digest);
    if (region.base < above || region.base % kLineBytes || region.size == 0 ||
        region.size > UINT64_MAX - kLineBytes - region.base)
        fail(ErrorKind::trace, "its PM regions are not in order");
    return region;
}

ImageDelta decode_body(std::span<const std::byte> body)
{
    trace::ByteCursor in(body);
    ImageDelta delta;
    delta.state = take_text(in);
    const std::uint64_t regions = in.varint();
    if (regions > kMostRegions)
        fail(ErrorKind::trace, "it has {} PM regions", regions);
    for (std::uint64_t i = 0; i < regions; ++i) {
        const std::uint64_t above =
            delta.regions.empty() ? 0 : delta.regions.back().base + delta.regions.back().size;
        delta.regions.push_back(take_region(in, static_cast<trace::RegionId>(i + 1), above));
    }
    delta.identity.low = in.word();
    delta.identity.high = in.word();
    const std::uint64_t count = in.varint();
    if (count > body.size() / kLineBytes)
        fail(ErrorKind::trace, "it ends too early");
    delta.lines.resize(count);
    std::uint64_t line = 0;
    std::size_t region = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t step = in.varint();
        if ((i != 0 && step == 0) || step > UINT64_MAX / kLineBytes - line)
            fail(ErrorKind::trace, "its lines are not in order");
        line += step;
        while (region < delta.regions.size() &&
               line * kLineBytes >= delta.regions[region].base + delta.regions[region].size)
            ++region;
        if (region == delta.regions.size() || line * kLineBytes < delta.regions[region].base)
            fail(ErrorKind::trace, "it has a line outside of its PM regions");
        delta.lines[i].line = line;
    }
    for (LineContent &each : delta.lines)
        std::memcpy(each.bytes.data(), in.take(kLineBytes).data(), kLineBytes);
    if (!in.done())
        fail(ErrorKind::trace, "something follows its end");
    return delta;
}

} // namespace

std::vector<std::byte> encode_delta(const ImageDelta &delta)
{
    std::vector<std::byte> body;
    put_text(body, delta.state);
    put_varint(body, delta.regions.size());
    for (const trace::Region &region : delta.regions) {
        put_text(body, region.name);
        put_varint(body, region.base);
        put_varint(body, region.size);
        put_text(body, region.file);
        put_varint(body, region.file_offset);
        put_text(body, region.initial_digest.value_or(""));
    }
    put_word(body, delta.identity.low);
    put_word(body, delta.identity.high);
    put_varint(body, delta.lines.size());
    std::uint64_t previous = 0;
    for (const LineContent &each : delta.lines) {
        put_varint(body, each.line - previous);
        previous = each.line;
    }
    for (const LineContent &each : delta.lines)
        body.insert(body.end(), each.bytes.begin(), each.bytes.end());
    const std::vector<std::byte> frame = trace::Compressor(1).compress(body);
    std::vector<std::byte> file;
    for (const char letter : kMagic)
        file.push_back(static_cast<std::byte>(letter));
    file.push_back(std::byte{kVersion});
    file.insert(file.end(), frame.begin(), frame.end());
    return file;
}

ImageDelta decode_delta(std::span<const std::byte> bytes)
{
    if (bytes.size() <= kMagic.size() ||
        std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        fail(ErrorKind::trace, "it is not an image.delta");
    const auto version = std::to_integer<unsigned>(bytes[kMagic.size()]);
    if (version != kVersion)
        fail(ErrorKind::trace, "it is an image.delta of version {}, this program reads version {}",
             version, kVersion);
    std::vector<std::byte> body;
    return decode_body(
        trace::Decompressor().decompress(bytes.subspan(kMagic.size() + 1), kLargest, body));
}

void write_delta(const std::filesystem::path &path, const ImageDelta &delta)
{
    const std::vector<std::byte> bytes = encode_delta(delta);
    write_file(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

ImageDelta read_delta(const std::filesystem::path &path)
{
    const std::string text = read_file(path);
    try {
        return decode_delta(std::as_bytes(std::span(text)));
    } catch (const Error &error) {
        fail(error.kind(), "cannot read {}: {}", path.string(), error.what());
    }
}

} // namespace fencepost::image
