// SPDX-License-Identifier: GPL-2.0-or-later
// Directories for files that outlive no process for long.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "base/files.h"

namespace fencepost {

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

// Scratch directories of processes that ended without removing them. None is made meanwhile.
void visit_leftovers(const std::filesystem::path &cache,
                     const std::function<void(const std::filesystem::path &)> &visit);

} // namespace fencepost
