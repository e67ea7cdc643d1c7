// SPDX-License-Identifier: GPL-2.0-or-later
// See scratch_sweep.h. A machine belongs to a scratch directory when the directory's name stands in
// its command line; that holds for libvirt's QEMU processes too, which do not die with us.
#include "replayer/guest/scratch_sweep.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.h"
#include "base/scratch.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

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

Swept sweep_scratch(const fs::path &cache)
{
    Swept swept;
    visit_leftovers(cache, [&](const fs::path &directory) {
        for (const pid_t pid : processes_using(directory.string())) {
            ::kill(pid, SIGKILL);
            ++swept.processes;
        }
        std::error_code error;
        fs::remove_all(directory, error);
        if (error)
            spdlog::warn("cannot remove {}: {}", directory.string(), error.message());
        ++swept.directories;
    });
    return swept;
}

} // namespace fencepost::guest
