// SPDX-License-Identifier: GPL-2.0-or-later
// See scratch.h.
#include "base/scratch.h"

namespace fencepost {

namespace fs = std::filesystem;

namespace {

constexpr const char *kLockName = "in-use";

fs::path scratch_root(const fs::path &cache)
{
    return cache / "scratch";
}

// Held while a directory is made and while leftovers are swept, so that a directory whose lock is
// not taken yet is never taken for a leftover.
FileLock lock_root(const fs::path &cache)
{
    make_directories(scratch_root(cache));
    return FileLock::acquire(scratch_root(cache) / "lock");
}

TemporaryDirectory make_locked(const fs::path &cache, std::optional<FileLock> &lock)
{
    const FileLock root = lock_root(cache);
    TemporaryDirectory directory(scratch_root(cache), "");
    lock = FileLock::acquire(directory.path() / kLockName);
    return directory;
}

} // namespace

ScratchDirectory::ScratchDirectory(const fs::path &cache) : ScratchDirectory(cache, std::nullopt) {}

ScratchDirectory::ScratchDirectory(const fs::path &cache, std::optional<FileLock> lock)
    : directory_(make_locked(cache, lock)), lock_(std::move(*lock))
{
}

void visit_leftovers(const fs::path &cache, const std::function<void(const fs::path &)> &visit)
{
    if (!fs::exists(scratch_root(cache)))
        return;
    const FileLock root = lock_root(cache);
    for (const fs::directory_entry &entry : fs::directory_iterator(scratch_root(cache))) {
        if (!entry.is_directory())
            continue;
        if (const auto lock = FileLock::try_acquire(entry.path() / kLockName))
            visit(entry.path());
    }
}

} // namespace fencepost
