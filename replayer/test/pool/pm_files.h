// SPDX-License-Identifier: GPL-2.0-or-later
// The PM files of one worker: given the bytes of a crash image, and given back from what a guest
// made of them, at the cost of the pages concerned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/fd.h"
#include "replayer/guest/guest.h"
#include "replayer/guest/guest_config.h"
#include "replayer/image/image_stream.h"
#include "replayer/test/pool/touched_pages.h"

namespace fencepost::test {

struct PmFileCounts {
    std::uint64_t pages_compared = 0;
    std::uint64_t pages_written = 0;
    std::uint64_t full_compares = 0; // because the kernel did not say what the guest had touched
};

// Files are read and written, not mapped: a full disk is then an error and not a bus error.
class PmFiles {
public:
    // Makes the files in `directory`, empty. `initial`: PM of the recording that `config` was made
    // for.
    PmFiles(const std::filesystem::path &directory, const image::InitialImage &initial,
            const guest::GuestConfig &config);

    const std::vector<std::filesystem::path> &paths() const { return paths_; } // by device

    // The line may differ from what the files hold.
    void suspect_line(std::uint64_t line);
    // Nothing is known about the files, but that holes are zero.
    void suspect_everything();

    // A machine that has just been given the files.
    void watch(guest::Machine &machine);
    // It did its work: what it touched is suspect, all of it where that cannot be told. False:
    // pages that it had touched are no longer told, so there may be others that never were.
    bool suspect_touched();

    // Makes the files hold the image; returns how many pages it wrote.
    std::uint64_t sync(image::HeldImage &image);

    const PmFileCounts &counts() const { return counts_; }

private:
    struct File {
        Fd fd;
        std::uint64_t first_line = 0;
        std::uint64_t pages = 0;
        std::size_t region = 0; // of the initial image
        std::vector<bool> is_suspect;
        std::vector<std::uint64_t> suspects; // pages
        std::vector<bool> was_touched;       // pages, by the machine that is watched
        std::uint64_t touched_count = 0;
    };

    void suspect(File &file, std::uint64_t first, std::uint64_t count);
    void suspect_data(File &file);
    void sync_range(File &file, std::span<const std::byte> wanted, PageRange range);
    void read_range(const File &file, PageRange range);

    std::vector<std::filesystem::path> paths_;
    std::vector<File> files_; // by device
    std::vector<TouchedPages> touched_;
    const image::InitialImage &initial_;
    std::vector<std::byte> buffer_;
    PmFileCounts counts_;
};

} // namespace fencepost::test
