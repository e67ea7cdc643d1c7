// SPDX-License-Identifier: GPL-2.0-or-later
// PM before the first event, held once and lent out as copies that cost only what is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <unistd.h>

#include "base/fd.h"
#include "replayer/image/line_hash.h"
#include "trace/reader.h"
#include "trace/records.h"

namespace fencepost::image {

class InitialImage {
public:
    // Loads what the trace has. A region without an initial image counts as zeros.
    explicit InitialImage(const trace::TraceReader &reader);
    InitialImage(std::vector<trace::Region> regions,
                 std::span<const std::span<const std::byte>> bytes);

    std::span<const trace::Region> regions() const { return regions_; } // in order of address
    Hash128 hash() const { return hash_; }
    // Calls visit(offset, size) for the parts of a region that may be other than zero.
    template <typename Visit> void for_each_part(std::size_t index, Visit &&visit) const
    {
        const int fd = memory_[index].get();
        const auto size = static_cast<off_t>(regions_[index].size);
        for (off_t at = lseek(fd, 0, SEEK_DATA); at >= 0 && at < size;) {
            const off_t hole = std::min(lseek(fd, at, SEEK_HOLE), size);
            visit(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(hole - at));
            at = lseek(fd, hole, SEEK_DATA);
        }
    }

private:
    friend class PmCopy;

    void open_memory();
    void add_to_hash(std::size_t index, std::span<const std::byte> bytes);

    std::vector<trace::Region> regions_;
    std::vector<Fd> memory_; // a memfd a region
    Hash128 hash_;
};

// All of PM as bytes: a private mapping a region, copied page by page on write.
class PmCopy {
public:
    explicit PmCopy(const InitialImage &initial);
    PmCopy(PmCopy &&) = delete;
    ~PmCopy();

    // The 64 bytes of a line; nullptr outside of PM.
    std::byte *line(std::uint64_t number)
    {
        if (number - recent_.first < recent_.count) [[likely]]
            return recent_.bytes + (number - recent_.first) * trace::kLineBytes;
        return find(number);
    }
    // As many bytes as the region has, in the order of InitialImage::regions().
    std::span<std::byte> region(std::size_t index);

private:
    struct Part {
        std::uint64_t first = 0; // line
        std::uint64_t count = 0; // lines
        std::byte *bytes = nullptr;
    };

    std::byte *find(std::uint64_t number);

    const InitialImage &initial_;
    std::vector<Part> parts_;
    Part recent_;
};

} // namespace fencepost::image
