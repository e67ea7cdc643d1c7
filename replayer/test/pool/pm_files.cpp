// SPDX-License-Identifier: GPL-2.0-or-later
// See pm_files.h.
#include "replayer/test/pool/pm_files.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::test {

namespace fs = std::filesystem;
using image::HeldImage;
using trace::kLineBytes;

namespace {

constexpr std::uint64_t kMostPagesAtOnce = 256;

} // namespace

PmFiles::PmFiles(const fs::path &directory, const image::InitialImage &initial,
                 const guest::GuestConfig &config)
    : initial_(initial), buffer_(kMostPagesAtOnce * kPageBytes)
{
    const auto regions = initial.regions();
    if (regions.size() != config.pm.size())
        fail(ErrorKind::trace, "the trace has {} PM devices and its guest {}", regions.size(),
             config.pm.size());
    for (std::size_t i = 0; i < config.pm.size(); ++i) {
        const auto region =
            std::find_if(regions.begin(), regions.end(), [&](const trace::Region &each) {
                return each.base == guest::pm_base(config, i);
            });
        if (region == regions.end() || region->size != config.pm[i].size)
            fail(ErrorKind::trace, "the trace's PM device {} is not that of its guest", i);
        File file;
        paths_.push_back(directory / fmt::format("pm{}", i));
        file.fd = open_file(paths_.back(), O_RDWR | O_CREAT | O_TRUNC);
        if (ftruncate(file.fd.get(), static_cast<off_t>(region->size)) != 0)
            fail_errno(fmt::format("cannot size {}", paths_.back().string()));
        file.first_line = region->base / kLineBytes;
        file.pages = region->size / kPageBytes;
        file.region = static_cast<std::size_t>(region - regions.begin());
        file.is_suspect.resize(file.pages);
        files_.push_back(std::move(file));
    }
    suspect_everything();
}

void PmFiles::suspect(File &file, std::uint64_t first, std::uint64_t count)
{
    for (std::uint64_t page = first; page < std::min(first + count, file.pages); ++page) {
        if (file.is_suspect[page])
            continue;
        file.is_suspect[page] = true;
        file.suspects.push_back(page);
    }
}

void PmFiles::suspect_line(std::uint64_t line)
{
    for (File &file : files_)
        if (const std::uint64_t at = line - file.first_line;
            at < file.pages * (kPageBytes / kLineBytes))
            suspect(file, at / (kPageBytes / kLineBytes), 1);
}

// What is a hole was never written, by anyone.
void PmFiles::suspect_data(File &file)
{
    const auto end = static_cast<off_t>(file.pages * kPageBytes);
    for (off_t at = lseek(file.fd.get(), 0, SEEK_DATA); at >= 0 && at < end;) {
        const off_t hole = lseek(file.fd.get(), at, SEEK_HOLE);
        const auto first = static_cast<std::uint64_t>(at) / kPageBytes;
        suspect(file, first,
                (static_cast<std::uint64_t>(hole) + kPageBytes - 1) / kPageBytes - first);
        at = lseek(file.fd.get(), hole, SEEK_DATA);
    }
}

void PmFiles::suspect_everything()
{
    for (File &file : files_) {
        suspect_data(file);
        initial_.for_each_part(file.region, [&](std::uint64_t offset, std::uint64_t size) {
            suspect(file, offset / kPageBytes, (size + kPageBytes - 1) / kPageBytes);
        });
    }
}

void PmFiles::watch(guest::Machine &machine)
{
    touched_.clear();
    for (File &file : files_) {
        file.was_touched.assign(file.pages, false);
        file.touched_count = 0;
    }
    for (std::size_t i = 0; i < files_.size(); ++i)
        touched_.emplace_back(machine.end_fd(), paths_[i], files_[i].pages * kPageBytes);
}

bool PmFiles::suspect_touched()
{
    bool all_told = true;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        File &file = files_[i];
        const auto ranges = touched_.empty() ? std::nullopt : touched_[i].read();
        if (!ranges) {
            ++counts_.full_compares;
            suspect_data(file);
            continue;
        }
        std::uint64_t told = 0;
        for (const PageRange &range : *ranges) {
            suspect(file, range.first, range.count);
            told += range.count;
            for (std::uint64_t page = range.first; page < range.first + range.count; ++page) {
                file.touched_count += !file.was_touched[page];
                file.was_touched[page] = true;
            }
        }
        if (told == file.touched_count)
            continue;
        all_told = false;
        ++counts_.full_compares;
        suspect_data(file);
    }
    return all_told;
}

void PmFiles::read_range(const File &file, PageRange range)
{
    std::size_t got = 0;
    while (got < range.count * kPageBytes) {
        const ssize_t piece =
            pread(file.fd.get(), buffer_.data() + got, range.count * kPageBytes - got,
                  static_cast<off_t>(range.first * kPageBytes + got));
        if (piece < 0 && errno == EINTR)
            continue;
        if (piece <= 0)
            fail_errno("cannot read a PM file");
        got += static_cast<std::size_t>(piece);
    }
}

void PmFiles::sync_range(File &file, std::span<const std::byte> wanted, PageRange range)
{
    read_range(file, range);
    counts_.pages_compared += range.count;
    for (std::uint64_t i = 0; i < range.count; ++i) {
        const std::byte *page = wanted.data() + (range.first + i) * kPageBytes;
        if (std::memcmp(buffer_.data() + i * kPageBytes, page, kPageBytes) == 0)
            continue;
        const ssize_t written = pwrite(file.fd.get(), page, kPageBytes,
                                       static_cast<off_t>((range.first + i) * kPageBytes));
        if (written != static_cast<ssize_t>(kPageBytes))
            fail_errno("cannot write a PM file", written < 0 ? errno : ENOSPC);
        ++counts_.pages_written;
    }
}

std::uint64_t PmFiles::sync(HeldImage &image)
{
    const std::uint64_t before = counts_.pages_written;
    for (File &file : files_) {
        std::sort(file.suspects.begin(), file.suspects.end());
        const std::span<const std::byte> wanted = image.region(file.region);
        for (std::size_t i = 0; i < file.suspects.size();) {
            std::size_t end = i + 1;
            while (end < file.suspects.size() && file.suspects[end] == file.suspects[end - 1] + 1 &&
                   end - i < kMostPagesAtOnce)
                ++end;
            sync_range(file, wanted, {file.suspects[i], end - i});
            i = end;
        }
        for (const std::uint64_t page : file.suspects)
            file.is_suspect[page] = false;
        file.suspects.clear();
    }
    return counts_.pages_written - before;
}

} // namespace fencepost::test
