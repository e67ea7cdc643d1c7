// SPDX-License-Identifier: GPL-2.0-or-later
// See image_export.h.
#include "replayer/image/image_export.h"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "base/error.h"
#include "base/folder.h"

namespace fencepost::image {

using trace::kLineBytes;
using trace::Region;

namespace {

namespace fs = std::filesystem;

void write_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset, const fs::path &path)
{
    while (!bytes.empty()) {
        const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written <= 0)
            fail_errno("cannot write " + path.string());
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
}

void write_region(OutputFile &file, const InitialImage &initial, std::size_t index,
                  PmCopy &contents, const ImageDelta &delta)
{
    const Region &region = initial.regions()[index];
    std::vector<const LineContent *> lines;
    for (const LineContent &each : delta.lines)
        if (region.contains(each.line * kLineBytes))
            lines.push_back(&each);
    if (file.is_stream()) {
        for (const LineContent *each : lines)
            std::memcpy(contents.line(each->line), each->bytes.data(), kLineBytes);
        write_all(file.fd(), contents.region(index), file.path());
        return;
    }
    if (ftruncate(file.fd(), static_cast<off_t>(region.size)) != 0)
        fail_errno("cannot write " + file.path().string());
    initial.for_each_part(index, [&](std::uint64_t offset, std::uint64_t size) {
        write_at(file.fd(), contents.region(index).subspan(offset, size), offset, file.path());
    });
    for (const LineContent *each : lines) {
        const std::uint64_t offset = each->line * kLineBytes - region.base;
        const std::uint64_t size = std::min<std::uint64_t>(kLineBytes, region.size - offset);
        write_at(file.fd(), std::span(each->bytes).first(size), offset, file.path());
    }
}

// A region's name is the trace's word.
fs::path file_of_region(const fs::path &path, const InitialImage &initial, std::size_t index)
{
    if (initial.regions().size() == 1)
        return path;
    const std::string &name = initial.regions()[index].name;
    if (!is_plain_name(name))
        fail(ErrorKind::trace, "PM region {} of the trace has a name that no file can have",
             index + 1);
    return path.string() + "-" + name;
}

bool is_delta(const fs::path &path)
{
    return path.string().ends_with(".delta");
}

} // namespace

std::vector<fs::path> write_image(const fs::path &path, const InitialImage &initial,
                                  const ImageDelta &delta, Overwrite overwrite)
{
    PmCopy contents(initial);
    Hash128 identity = initial.hash();
    for (const LineContent &each : delta.lines) {
        const std::byte *before = contents.line(each.line);
        if (!before)
            fail(ErrorKind::trace, "the delta has a line outside of the trace's PM regions");
        identity -= line_hash(each.line, before);
        identity += line_hash(each.line, each.bytes.data());
    }
    if (identity != delta.identity)
        fail(ErrorKind::trace, "the delta does not fit the trace's initial image");
    std::vector<fs::path> made;
    for (std::size_t i = 0; i < initial.regions().size(); ++i)
        made.push_back(file_of_region(path, initial, i));
    for (const fs::path &file : made)
        check_output(file, overwrite); // of all of them, before the first is written
    for (std::size_t i = 0; i < initial.regions().size(); ++i) {
        OutputFile file(made[i], overwrite);
        write_region(file, initial, i, contents, delta);
        file.finish();
    }
    return made;
}

std::vector<fs::path> export_image(const fs::path &path, const InitialImage &initial,
                                   const ImageDelta &delta, Overwrite overwrite)
{
    if (!is_delta(path))
        return write_image(path, initial, delta, overwrite);
    const std::vector<std::byte> bytes = encode_delta(delta);
    write_output(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()}, overwrite);
    return {path};
}

void check_export(const fs::path &path, std::size_t regions, Overwrite overwrite)
{
    if (is_delta(path) || regions == 1)
        check_output(path, overwrite);
}

} // namespace fencepost::image
