// SPDX-License-Identifier: GPL-2.0-or-later
// See scratch.h. A machine belongs to a scratch directory when the directory's name stands in its
// command line; that holds for libvirt's QEMU processes too, which do not die with us.
#include "replayer/guest/scratch.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost::guest {

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

std::vector<pid_t> processes_using(const std::string &directory)
{
    std::vector<pid_t> found;
    for (const fs::directory_entry &entry : fs::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0 || pid == getpid())
            continue;
        try {
            const std::string command = read_file(entry.path() / "cmdline");
            if (command.find(directory + "/") != std::string::npos &&
                command.substr(0, command.find('\0')).find("qemu-system") != std::string::npos)
                found.push_back(pid);
        } catch (const Error &) {
            // It ended meanwhile, or is not ours to look at: then it is not our machine either.
        }
    }
    return found;
}

} // namespace

ScratchDirectory::ScratchDirectory(const fs::path &cache) : ScratchDirectory(cache, std::nullopt) {}

ScratchDirectory::ScratchDirectory(const fs::path &cache, std::optional<FileLock> lock)
    : directory_(make_locked(cache, lock)), lock_(std::move(*lock))
{
}

Swept sweep_scratch(const fs::path &cache)
{
    Swept swept;
    if (!fs::exists(scratch_root(cache)))
        return swept;
    const FileLock root = lock_root(cache);
    for (const fs::directory_entry &entry : fs::directory_iterator(scratch_root(cache))) {
        if (!entry.is_directory())
            continue;
        const auto lock = FileLock::try_acquire(entry.path() / kLockName);
        if (!lock)
            continue;
        for (const pid_t pid : processes_using(entry.path().string())) {
            ::kill(pid, SIGKILL);
            ++swept.processes;
        }
        std::error_code error;
        fs::remove_all(entry.path(), error);
        if (error)
            spdlog::warn("cannot remove {}: {}", entry.path().string(), error.message());
        ++swept.directories;
    }
    return swept;
}

} // namespace fencepost::guest
