// SPDX-License-Identifier: GPL-2.0-or-later
// Whole files: arbitrary bytes, or a small valid trace with bytes changed. Reading either must end
// in events or in an Error that is not our bug.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <fcntl.h>

#include "base/error.h"
#include "base/files.h"
#include "trace/reader.h"
#include "trace/replay.h"
#include "trace/summary.h"
#include "trace/writer.h"

using namespace fencepost;
using namespace fencepost::trace;

namespace {

std::string valid_trace(const std::filesystem::path &path)
{
    TraceWriter writer = TraceWriter::create(path);
    const Region region = {
        .id = 1, .name = "pmem0", .base = 1 << 20, .size = 1 << 16, .file = "pm"};
    writer.put_region(region);
    writer.put_initial_image(region, std::vector<std::byte>(region.size, std::byte{5}));
    writer.put_site({.id = 1, .pc = 0x1000, .module = "kernel", .disassembly = "mov"});
    EventBuffer buffer(300);
    const std::byte bytes[64] = {std::byte{1}};
    for (unsigned i = 0; i < 100; ++i) {
        buffer.push_store({.address = region.base + i * 60,
                           .site = 1,
                           .size = static_cast<std::uint8_t>(1 + i % 64)},
                          bytes);
        buffer.push(
            {.address = region.base + i * 60, .site = 1, .kind = EventKind::flush, .subkind = 2});
        buffer.push_marker({.kind = EventKind::marker}, {.arguments = {i}, .text = "op"});
    }
    writer.append(buffer);
    writer.finish(RecordingState::complete, "");
    return read_file(path);
}

void read_everything(const std::filesystem::path &path)
{
    const TraceReader reader(path);
    std::uint64_t sum = 0;
    reader.scan({.lines = std::vector<LineRange>{{16384, 16400}}}).for_each([&](auto seq, auto...) {
        sum += seq;
    });
    reader.meta();
    reader.sites();
    reader.symbols();
    reader.stacks();
    reader.stack_frames();
    reader.data_quality();
    reader.for_each_marker([&](const MarkerRow &row) { sum += row.seq; });
    std::vector<std::vector<std::byte>> rooms;
    std::vector<RegionImage> images;
    for (const Region &region : reader.regions()) {
        if (region.size > 1 << 24)
            continue;
        rooms.emplace_back(region.size);
        images.push_back({region, rooms.back()});
        reader.load_initial_image(region, rooms.back());
    }
    replay_onto(reader, images);
    Statement query(
        reader.connection(),
        "SELECT kind, sum(number), max(value) FROM event WHERE line > 16384 GROUP BY kind");
    while (query.step()) {
    }
    summarise(reader);
    Statement intervals(reader.connection(), "SELECT * FROM interval_site('architectural')");
    while (intervals.step()) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const TemporaryDirectory directory(std::filesystem::temp_directory_path(),
                                              "trace_fuzzer");
    static const std::filesystem::path path = directory.path() / "trace.db";
    static const std::string valid = valid_trace(path);
    if (size == 0)
        return 0;
    std::string bytes;
    if (data[0] & 1) {
        bytes.assign(reinterpret_cast<const char *>(data + 1), size - 1);
    } else {
        // Four bytes a change: where, and what to.
        bytes = valid;
        for (std::size_t at = 1; at + 4 <= size; at += 4) {
            const std::size_t where = data[at] | data[at + 1] << 8 | data[at + 2] << 16;
            bytes[where % bytes.size()] = static_cast<char>(data[at + 3]);
        }
    }
    {
        const Fd fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
        write_all(fd.get(), std::as_bytes(std::span(bytes.data(), bytes.size())), path);
    }
    try {
        read_everything(path);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::internal)
            std::abort();
    }
    return 0;
}
