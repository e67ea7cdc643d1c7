// SPDX-License-Identifier: GPL-2.0-or-later
// Directories for the files of running machines, which outlive no process for long.
#pragma once

#include <filesystem>

#include "base/files.h"

namespace fencepost::guest {

// A directory CACHE/scratch/XXXXXX. A lock in it, held by this process, says that it is in use.
class ScratchDirectory {
public:
    explicit ScratchDirectory(const std::filesystem::path &cache);

    const std::filesystem::path &path() const { return directory_.path(); }

private:
    ScratchDirectory(const std::filesystem::path &cache, std::optional<FileLock> lock);

    TemporaryDirectory directory_;
    FileLock lock_;
};

struct Swept {
    int directories = 0;
    int processes = 0;
};

// Removes the scratch directories of processes that ended without doing so, and kills the machines
// that still use one.
Swept sweep_scratch(const std::filesystem::path &cache);

} // namespace fencepost::guest
