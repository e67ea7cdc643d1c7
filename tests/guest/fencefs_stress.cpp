// SPDX-License-Identifier: GPL-2.0-or-later
// fencefs under random operations of two threads on two CPUs, with the machine killed again and
// again: fencefs_stress OPERATIONS SEED [MOUNT_OPTIONS]. After each kill fsck looks at PM, and the
// next machine recovers, compares the tree with the model and goes on. A kill leaves in PM all
// stores up to some instruction, flushed or not: it shows what goes wrong between two stores, not
// what a cache would have lost; crash states are for that.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "base/child_process.h"
#include "base/error.h"
#include "tests/guest/kernel_module.h"
#include "tests/guest/recorded_guest.h"

namespace fencepost::guest {
namespace {

namespace fs = std::filesystem;

constexpr std::streamoff kDeviceOffset = 2 << 20; // of /dev/pmemN in its file
// Between two kills, more or less.
constexpr std::uint64_t kLeastOperations = 20;
constexpr std::uint64_t kMostOperations = 150;

GuestConfig stress_config()
{
    GuestConfig config;
    config.cpus = 2;
    config.pm = {PmConfig{.size = 64 << 20}, PmConfig{.size = 16 << 20}};
    return config;
}

void require_success(Guest &guest, const std::string &command)
{
    const RunReply reply = run_in(guest, {"sh", "-c", command});
    if (!reply.success())
        fail(ErrorKind::guest, "{}: {}{}\n{}", command, reply.output, reply.errors,
             guest.log().kernel_log());
}

fs::path build_module(World &world, const fs::path &directory)
{
    std::vector<fs::path> sources;
    std::istringstream words(FENCEPOST_FENCEFS_SOURCES);
    for (std::string word; words >> word;)
        sources.push_back(word);
    return build_kernel_module(world.source().kernel_release, sources, directory);
}

// What both threads have done, as they say on their device (stress.cpp).
std::uint64_t operations_done(const fs::path &device)
{
    std::uint64_t total = 0;
    std::ifstream file(device, std::ios::binary);
    for (const int thread : {0, 1}) {
        std::array<std::uint64_t, 2> begun_and_done = {};
        file.seekg(kDeviceOffset + thread * 4096);
        file.read(reinterpret_cast<char *>(begun_and_done.data()), sizeof(begun_and_done));
        total += begun_and_done[1];
    }
    if (!file)
        fail(ErrorKind::guest, "cannot read {}", device.string());
    return total;
}

// True when all operations are done.
bool run_some(Guest &guest, const std::string &command, std::chrono::milliseconds time)
{
    RunRequest request;
    request.argv = {"sh", "-c", command};
    request.time_limit_ms = 600'000;
    try {
        const RunReply reply = *guest.with_agent(
            [&](AgentClient &agent) { return agent.run(request, Deadline::after(time)); });
        if (!reply.success())
            fail(ErrorKind::guest, "{}{}\n{}", reply.output, reply.errors,
                 guest.log().kernel_log());
        return true;
    } catch (const GuestLost &lost) {
        if (lost.end() != GuestEnd::hung)
            throw;
        return false; // our deadline: the destructor kills it
    }
}

void run(const std::string &operations, const std::string &seed, const std::string &options)
{
    World world("process", stress_config());
    const TemporaryDirectory directory("/tmp", "fp-stress-");
    const fs::path module = build_module(world, directory.path());
    const std::vector<fs::path> pm = {world.new_pm_file(), world.new_pm_file()};
    const std::string how = options.find("data=inplace") != std::string::npos ? " inplace" : "";
    std::mt19937_64 random(std::strtoull(seed.c_str(), nullptr, 10));
    unsigned kills = 0;
    std::uint64_t done = 0;
    std::uint64_t time = 100; // milliseconds; what a machine compares before it goes on grows
    for (bool finished = false, first = true; !finished; first = false) {
        {
            const std::unique_ptr<Guest> guest = world.restore(pm);
            put_program(*guest, module, "/tmp/fencefs.ko");
            put_program(*guest, FENCEPOST_FENCEFS_MKFS, "/tmp/mkfs.fencefs");
            put_program(*guest, FENCEPOST_FENCEFS_STRESS, "/tmp/stress");
            if (first)
                require_success(*guest, "/tmp/mkfs.fencefs /dev/pmem0");
            require_success(*guest,
                            "insmod /tmp/fencefs.ko && mkdir -p /mnt/pm && mount -t fencefs" +
                                (options.empty() ? "" : " -o " + options) + " /dev/pmem0 /mnt/pm");
            finished =
                run_some(*guest, "/tmp/stress /mnt/pm /dev/pmem1 " + seed + " " + operations + how,
                         std::chrono::milliseconds(time / 4 + random() % time));
            if (finished)
                require_success(*guest, "umount /mnt/pm");
            const std::string log = guest->log().kernel_log();
            if (log.find("BUG") != std::string::npos || log.find("damaged") != std::string::npos)
                fail(ErrorKind::guest, "the kernel complains: {}", log);
        }
        kills += !finished;
        const std::uint64_t before = std::exchange(done, operations_done(pm[1]));
        if (done < before + kLeastOperations)
            time += time / 4;
        else if (done > before + kMostOperations)
            time -= time / 4;
        if (kills % 10 == 0)
            std::fprintf(stderr, "fencefs_stress: %llu operations, %u kills\n",
                         static_cast<unsigned long long>(done), kills);
        const CommandResult fsck =
            run_command({FENCEPOST_FENCEFS_FSCK, pm[0].string(), std::to_string(kDeviceOffset)});
        if (!fsck.success())
            fail(ErrorKind::guest, "after {} kills: {}", kills, fsck.output);
    }
    std::printf("fencefs_stress: %s operations, %u kills, no difference\n", operations.c_str(),
                kills);
}

} // namespace
} // namespace fencepost::guest

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: fencefs_stress OPERATIONS SEED [MOUNT_OPTIONS]\n");
        return 2;
    }
    try {
        fencepost::guest::run(argv[1], argv[2], argc == 4 ? argv[3] : "");
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "fencefs_stress: %s\n", error.what());
        return 1;
    }
    return 0;
}
