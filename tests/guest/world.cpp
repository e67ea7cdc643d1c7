// SPDX-License-Identifier: GPL-2.0-or-later
// See world.h.
#include "tests/guest/world.h"

#include <cstdlib>

#include "base/error.h"
#include "base/places.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

// Short, because libvirt's socket paths must fit into 107 characters.
fs::path test_root()
{
    const char *chosen = std::getenv("TMPDIR");
    return chosen && *chosen ? fs::path(chosen) : fs::path("/tmp");
}

} // namespace

PrivateCache::PrivateCache() : directory_(test_root(), "fp-")
{
    for (const char *shared : {"images", "packages", "libvirt-capabilities"}) {
        make_directories(cache_directory() / shared);
        fs::create_directory_symlink(cache_directory() / shared, path() / shared);
    }
}

std::vector<std::string> PrivateCache::leftovers() const
{
    std::vector<std::string> found;
    if (fs::exists(path() / "scratch"))
        for (const fs::directory_entry &entry : fs::directory_iterator(path() / "scratch"))
            if (entry.path().filename() != "lock")
                found.push_back(entry.path().string());
    if (fs::exists(path() / "templates"))
        for (const fs::directory_entry &entry : fs::directory_iterator(path() / "templates"))
            if (entry.path().filename().string().starts_with("new-"))
                found.push_back(entry.path().string());
    for (const pid_t pid : machines_using(path()))
        found.push_back(fmt::format("QEMU process {}", pid));
    return found;
}

std::vector<pid_t> machines_using(const fs::path &directory)
{
    std::vector<pid_t> found;
    for (const fs::directory_entry &entry : fs::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0)
            continue;
        try {
            const std::string command = read_file(entry.path() / "cmdline");
            if (command.find("qemu-system") != std::string::npos &&
                command.find(directory.string() + "/") != std::string::npos)
                found.push_back(pid);
        } catch (const Error &) {
            // Ended while we looked.
        }
    }
    return found;
}

World::World(const std::string &backend, GuestConfig config)
    : backend_(make_backend(backend, cache_directory())),
      store_(std::make_unique<TemplateStore>(cache_directory(), *backend_)),
      source_(store_->ensure(config, [](const std::string &) {})), files_(test_root(), "fp-pm-")
{
}

std::unique_ptr<Guest> World::restore()
{
    std::vector<fs::path> pm_files;
    for (std::size_t i = 0; i < source_.config.pm.size(); ++i)
        pm_files.push_back(new_pm_file());
    return restore(pm_files);
}

std::unique_ptr<Guest> World::restore(const std::vector<fs::path> &pm_files)
{
    return store_->restore(source_, pm_files, soon());
}

fs::path World::new_pm_file()
{
    const fs::path path = files_.path() / fmt::format("pm{}", count_++);
    create_pm_file(path, source_.config.pm.at(0));
    return path;
}

RunReply run_in(Guest &guest, const std::vector<std::string> &argv, std::uint32_t time_limit_ms)
{
    RunRequest request;
    request.argv = argv;
    request.time_limit_ms = time_limit_ms;
    return *guest.with_agent([&](AgentClient &agent) { return agent.run(request, soon()); });
}

} // namespace fencepost::guest
