// SPDX-License-Identifier: GPL-2.0-or-later
// See image_export.h.
#include "replayer/image/image_export.h"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

namespace fencepost::image {

using trace::kLineBytes;
using trace::Region;

namespace {

namespace fs = std::filesystem;

void write_at(const Fd &fd, std::span<const std::byte> bytes, std::uint64_t offset,
              const fs::path &path)
{
    while (!bytes.empty()) {
        const ssize_t written =
            pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written <= 0)
            fail_errno("cannot write " + path.string());
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
}

void write_region(const fs::path &path, const InitialImage &initial, std::size_t index,
                  PmCopy &contents, const ImageDelta &delta)
{
    const Region &region = initial.regions()[index];
    const fs::path unfinished = path.string() + ".part";
    const Fd fd = open_file(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    if (ftruncate(fd.get(), static_cast<off_t>(region.size)) != 0)
        fail_errno("cannot write " + unfinished.string());
    initial.for_each_part(index, [&](std::uint64_t offset, std::uint64_t size) {
        write_at(fd, contents.region(index).subspan(offset, size), offset, unfinished);
    });
    for (const LineContent &each : delta.lines) {
        const std::uint64_t address = each.line * kLineBytes;
        if (!region.contains(address))
            continue;
        const std::uint64_t offset = address - region.base;
        const std::uint64_t size = std::min<std::uint64_t>(kLineBytes, region.size - offset);
        write_at(fd, std::span(each.bytes).first(size), offset, unfinished);
    }
    fs::rename(unfinished, path);
}

} // namespace

std::vector<fs::path> write_image(const fs::path &path, const InitialImage &initial,
                                  const ImageDelta &delta)
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
    for (std::size_t i = 0; i < initial.regions().size(); ++i) {
        made.push_back(initial.regions().size() == 1
                           ? path
                           : fs::path(path.string() + "-" + initial.regions()[i].name));
        write_region(made.back(), initial, i, contents, delta);
    }
    return made;
}

} // namespace fencepost::image
