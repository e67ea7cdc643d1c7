// SPDX-License-Identifier: GPL-2.0-or-later
// See touched_pages.h. A page of a shared file that was reclaimed meanwhile is no longer present,
// and nothing says that it was: on tmpfs that takes swap, on a disk's file memory pressure.
#include "replayer/test/pool/touched_pages.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/pidfd.h"

namespace fencepost::test {

namespace {

// From linux/fs.h since 6.7; declared here because Debian 12's headers are older.
struct PageRegion {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t categories;
};
struct ScanArguments {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t walk_end;
    std::uint64_t regions;
    std::uint64_t region_count;
    std::uint64_t most_pages;
    std::uint64_t inverted_categories;
    std::uint64_t all_of;
    std::uint64_t any_of;
    std::uint64_t return_categories;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kPresent = 1 << 3;

// Of an entry of /proc/PID/pagemap.
constexpr std::uint64_t kEntryPresent = 1ull << 63;

std::uint64_t mapping_of(const std::string &process, const std::filesystem::path &file)
{
    std::ifstream maps(process + "/maps");
    const std::string ending = fmt::format(" {}", file.string());
    for (std::string line; std::getline(maps, line);) {
        if (!line.ends_with(ending))
            continue;
        std::uint64_t start = 0;
        std::uint64_t offset = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%*x %*s %" SCNx64, &start, &offset) == 2 &&
            offset == 0)
            return start;
    }
    return 0;
}

} // namespace

TouchedPages::TouchedPages(int end_fd, std::filesystem::path file, std::uint64_t size) : size_(size)
{
    const std::optional<pid_t> pid = pid_of(end_fd);
    if (!pid)
        return;
    const std::string process = fmt::format("/proc/{}", *pid);
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(file, error);
    address_ = mapping_of(process, error ? file : real);
    pagemap_ = Fd(open((process + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<std::vector<PageRange>> TouchedPages::read()
{
    if (address_ == 0 || !pagemap_)
        return std::nullopt;
    if (can_scan_) {
        if (auto pages = scan())
            return pages;
        can_scan_ = false;
    }
    return read_entries();
}

std::optional<std::vector<PageRange>> TouchedPages::scan()
{
    std::vector<PageRange> found;
    PageRegion regions[512];
    ScanArguments arguments = {};
    arguments.size = sizeof arguments;
    arguments.start = address_;
    arguments.end = address_ + size_;
    arguments.regions = reinterpret_cast<std::uint64_t>(regions);
    arguments.region_count = std::size(regions);
    arguments.any_of = arguments.return_categories = kPresent;
    while (arguments.start < arguments.end) {
        const int count = ioctl(pagemap_.get(), kScan, &arguments);
        if (count < 0)
            return std::nullopt;
        for (int i = 0; i < count; ++i)
            found.push_back({(regions[i].start - address_) / kPageBytes,
                             (regions[i].end - regions[i].start) / kPageBytes});
        if (arguments.walk_end <= arguments.start)
            return std::nullopt;
        arguments.start = arguments.walk_end;
    }
    // Of a process that ends while it is looked at, the scan finds less and less and says so to
    // nobody; reading an entry fails from the moment on at which its memory is taken down.
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(address_ / kPageBytes * sizeof entry);
    if (pread(pagemap_.get(), &entry, sizeof entry, at) != sizeof entry)
        return std::nullopt;
    return found;
}

std::optional<std::vector<PageRange>> TouchedPages::read_entries()
{
    entries_.resize(size_ / kPageBytes);
    const std::size_t wanted = entries_.size() * sizeof entries_[0];
    std::size_t got = 0;
    while (got < wanted) {
        const ssize_t piece =
            pread(pagemap_.get(), reinterpret_cast<char *>(entries_.data()) + got, wanted - got,
                  static_cast<off_t>(address_ / kPageBytes * sizeof entries_[0] + got));
        if (piece <= 0)
            return std::nullopt; // the process has ended
        got += static_cast<std::size_t>(piece);
    }
    std::vector<PageRange> found;
    for (std::uint64_t page = 0; page < entries_.size(); ++page) {
        if (!(entries_[page] & kEntryPresent))
            continue;
        if (!found.empty() && found.back().first + found.back().count == page)
            ++found.back().count;
        else
            found.push_back({page, 1});
    }
    return found;
}

} // namespace fencepost::test
