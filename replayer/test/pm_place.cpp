// SPDX-License-Identifier: GPL-2.0-or-later
// See pm_place.h.
#include "replayer/test/pm_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/guest/scratch_sweep.h"

namespace fencepost::test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMargin = 64 << 20;

fs::path root(const fs::path &cache, const guest::GuestConfig &config, unsigned jobs)
{
    std::uint64_t needed = kMargin;
    for (const guest::PmConfig &device : config.pm)
        needed += 2 * device.size * jobs; // a worker's warm guest and its fresh one
    // A name of our own below a directory that everybody may write to.
    const fs::path memory = fs::path("/dev/shm") / fmt::format("fencepost-{}", getuid());
    std::error_code error;
    fs::create_directory(memory, error);
    struct stat status = {};
    const bool ours = lstat(memory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == getuid() && chmod(memory.c_str(), 0700) == 0 &&
                      access(memory.c_str(), W_OK) == 0;
    if (ours) {
        guest::sweep_scratch(memory); // what a killed test has left takes room
        if (free_bytes(memory) >= needed)
            return memory;
    }
    require_free_bytes(cache, needed);
    return cache;
}

} // namespace

PmPlace::PmPlace(const fs::path &cache, const guest::GuestConfig &config, unsigned jobs)
    : scratch_(root(cache, config, jobs))
{
}

} // namespace fencepost::test
