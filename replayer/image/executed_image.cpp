// SPDX-License-Identifier: GPL-2.0-or-later
// See executed_image.h.
#include "replayer/image/executed_image.h"

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::image {

using trace::Event;
using trace::EventKind;

namespace {

constexpr std::uint64_t kPage = 4096;

class PartWriter {
public:
    PartWriter(const std::filesystem::path &path, const RegionPart &part,
               std::span<const std::byte> region)
        : path_(path), fd_(open_file(path, O_WRONLY | O_CREAT | O_EXCL)), part_(part),
          region_(region)
    {
        if (ftruncate(fd_.get(), static_cast<off_t>(part.size)) < 0)
            fail_errno("cannot size " + path.string());
    }

    // Of the region; what is not in the part is left out.
    void write(std::uint64_t from, std::uint64_t size)
    {
        const std::uint64_t end = std::min(from + size, part_.offset + part_.size);
        for (from = std::max(from, part_.offset); from < end;) {
            const ssize_t written = pwrite(fd_.get(), region_.data() + from, end - from,
                                           static_cast<off_t>(from - part_.offset));
            if (written <= 0)
                fail_errno("cannot write " + path_.string());
            from += static_cast<std::uint64_t>(written);
        }
    }

private:
    const std::filesystem::path path_;
    const Fd fd_;
    const RegionPart part_;
    const std::span<const std::byte> region_;
};

} // namespace

void write_executed(const std::filesystem::path &path, const trace::TraceReader &reader,
                    const InitialImage &initial, const RegionPart &part, std::uint64_t seq)
{
    const trace::Region &region = initial.regions()[part.region];
    CHECK(part.offset <= region.size && part.size <= region.size - part.offset,
          "a part of a region is in it");
    PmCopy pm(initial);
    const std::span<std::byte> bytes = pm.region(part.region);
    std::vector<bool> stored((region.size + kPage - 1) / kPage);
    if (seq != 0)
        reader
            .scan(
                {.last_seq = seq - 1,
                 .kinds = trace::kind_bit(EventKind::store) | trace::kind_bit(EventKind::nt_store)})
            .for_each([&](std::uint64_t, const Event &event, std::span<const std::byte> wide) {
                const std::span<const std::byte> value = trace::value_of(event, wide);
                const std::uint64_t at = event.address - region.base;
                if (value.empty() || at >= region.size || value.size() > region.size - at)
                    return; // of another region
                std::copy(value.begin(), value.end(), bytes.begin() + static_cast<off_t>(at));
                stored[at / kPage] = true;
                stored[(at + value.size() - 1) / kPage] = true;
            });
    PartWriter writer(path, part, bytes);
    initial.for_each_part(
        part.region, [&](std::uint64_t from, std::uint64_t size) { writer.write(from, size); });
    for (std::uint64_t page = 0; page < stored.size(); ++page)
        if (stored[page])
            writer.write(page * kPage, std::min(kPage, region.size - page * kPage));
}

} // namespace fencepost::image
