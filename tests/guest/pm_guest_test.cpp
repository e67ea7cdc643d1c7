// SPDX-License-Identifier: GPL-2.0-or-later
// PM in a restored guest: every attachment, size and file system, one device and several, and the
// host's file as the truth of what the guest wrote.
#include <gtest/gtest.h>

#include "base/child_process.h"
#include "replayer/guest/trial.h"
#include "tests/guest/world.h"

namespace fencepost::guest {
namespace {

struct Case {
    const char *name;
    PmAttach attach;
    std::uint64_t size;
    unsigned devices;
    unsigned cpus;
    Clock clock;
    const char *file_system;
    FormatIn format_in;
    const char *kernel_arguments;
};

constexpr std::uint64_t kMiB = 1 << 20;

const Case kCases[] = {
    {"smallest", PmAttach::nvdimm, 16 * kMiB, 1, 1, Clock::host, "ext4", FormatIn::host, ""},
    {"largest_xfs", PmAttach::nvdimm, 1024 * kMiB, 1, 1, Clock::host, "xfs", FormatIn::host, ""},
    {"two_nvdimms", PmAttach::nvdimm, 64 * kMiB, 2, 1, Clock::host, "ext4", FormatIn::guest, ""},
    {"e820", PmAttach::e820, 128 * kMiB, 1, 1, Clock::host, "xfs", FormatIn::guest, ""},
    {"two_e820_icount_two_cpus", PmAttach::e820, 128 * kMiB, 2, 2, Clock::icount, "ext4",
     FormatIn::host, ""},
    {"serial_channel", PmAttach::nvdimm, 128 * kMiB, 1, 1, Clock::host, "ext4", FormatIn::host,
     "fencepost.channel=serial"},
};

class PmGuest : public testing::TestWithParam<Case> {};

TEST_P(PmGuest, IsFormattedMountedWrittenAndRead)
{
    const Case &given = GetParam();
    TrialRequest request;
    request.config.pm.assign(given.devices, PmConfig{given.size, given.attach});
    request.config.cpus = given.cpus;
    request.config.clock = given.clock;
    request.config.kernel_arguments = given.kernel_arguments;
    request.file_system = given.file_system;
    request.format_in = given.format_in;
    World world("process", request.config);
    ASSERT_EQ(world.source().pm_devices.size(), given.devices);
    for (const agent::PmDevice &device : world.source().pm_devices) {
        EXPECT_EQ(device.size_bytes, given.size - pm_data_offset(request.config.pm[0]));
        EXPECT_TRUE(device.dax);
    }
    std::vector<std::string> steps;
    const PrivateCache scratch;
    run_trial(
        world.store(), scratch.path(), request, [](const std::string &) {},
        [&](const TrialStep &step) { steps.push_back(step.name); });
    EXPECT_EQ(steps, (std::vector<std::string>{"template", "restore", "format", "mount", "write",
                                               "read", "unmount"}));
    EXPECT_EQ(scratch.leftovers(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Table, PmGuest, testing::ValuesIn(kCases),
                         [](const auto &given) { return std::string(given.param.name); });

TEST(PmFile, HoldsWhatTheGuestWrote)
{
    World world;
    const auto pm = world.new_pm_file();
    make_file_system(pm, world.source().config.pm[0], "ext4");
    const auto guest = world.restore({pm});
    const MountRequest what = {"/dev/pmem0", "/mnt/pm", "ext4", "dax"};
    ASSERT_TRUE(guest->with_agent([&](AgentClient &agent) { return agent.mount(what, soon()); }));
    ASSERT_TRUE(run_in(*guest, {"sh", "-c", "echo from the guest > /mnt/pm/file; sync"}).success());
    ASSERT_TRUE(
        guest->with_agent([&](AgentClient &agent) { return agent.unmount("/mnt/pm", soon()); }));
    // debugfs reads the file system from the host's file; nothing is mounted.
    const CommandResult result = run_command({find_program("debugfs").value().string(), "-R",
                                              "cat /file", pm.string() + "?offset=2097152"});
    EXPECT_EQ(result.output, "from the guest\n");
}

TEST(PmFile, GuestsWithTheSameTemplateDoNotShareAnything)
{
    World world;
    const auto first = world.restore();
    const auto second = world.restore();
    ASSERT_TRUE(
        run_in(*first, {"sh", "-c", "echo first > /tmp/mark; echo first > /dev/pmem0"}).success());
    EXPECT_FALSE(run_in(*second, {"cat", "/tmp/mark"}).success());
    EXPECT_NE(run_in(*second, {"head", "-c", "5", "/dev/pmem0"}).output, "first");
    EXPECT_EQ(run_in(*first, {"cat", "/tmp/mark"}).output, "first\n");
}

} // namespace
} // namespace fencepost::guest
