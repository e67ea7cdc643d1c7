// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent reads: frames that are none, mount options, boot parameters, sysfs, the kernel
// log.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.h"
#include "guest-images/agent/boot_parameters.h"
#include "guest-images/agent/kernel_log.h"
#include "guest-images/agent/mount_requests.h"
#include "guest-images/agent/pm_devices.h"
#include "guest-images/agent/server.h"

namespace fencepost::agent {
namespace {

TEST(AgentServerFrames, MalformedRequestsAreAnsweredAndTheNextIsServed)
{
    auto [host, served] = socket_pair();
    const pid_t server = fork();
    if (server == 0) {
        host.reset();
        serve(served.get(), encode_message(0, Hello()));
        _exit(0);
    }
    served.reset();
    const std::string stream = "junk" + encode_frame(MessageType::mount, 4, "short") +
                               encode_frame(static_cast<MessageType>(999), 5, "") +
                               encode_message(6, PingRequest{"p"}) +
                               encode_message(7, PowerOffRequest());
    write_all(host.get(), std::as_bytes(std::span(stream)), "channel");
    FrameParser parser;
    std::vector<std::pair<MessageType, std::uint32_t>> answers;
    char buffer[4096];
    for (ssize_t got; (got = read(host.get(), buffer, sizeof buffer)) > 0;) {
        parser.feed({buffer, static_cast<std::size_t>(got)});
        for (Frame frame; parser.next(frame) == FrameParser::Result::frame;)
            answers.emplace_back(frame.type, frame.request_id);
    }
    waitpid(server, nullptr, 0);
    const std::vector<std::pair<MessageType, std::uint32_t>> expected = {
        {MessageType::hello, 0},
        {MessageType::protocol_error, 0},
        {MessageType::protocol_error, 4},
        {MessageType::protocol_error, 5},
        {PingReply::kType, 6},
        {PowerOffReply::kType, 7}};
    EXPECT_EQ(answers, expected);
}

TEST(MountOptions, SplitsFlagsFromData)
{
    const MountOptions options = parse_mount_options("ro,dax=always,,noatime,data=ordered,sync,rw");
    EXPECT_EQ(options.flags, static_cast<unsigned long>(MS_NOATIME | MS_SYNCHRONOUS));
    EXPECT_EQ(options.data, "dax=always,data=ordered");
    EXPECT_EQ(parse_mount_options("").flags, 0u);
    EXPECT_EQ(parse_mount_options("defaults").data, "");
    EXPECT_EQ(parse_mount_options("rbind").flags, static_cast<unsigned long>(MS_BIND | MS_REC));
}

TEST(BootParameters, AreFoundAmongTheKernels)
{
    const BootParameters parameters = parse_boot_parameters(
        "quiet fencepost.pm_devices=2 console=ttyS0 fencepost.channel=serial\n");
    EXPECT_EQ(parameters.pm_devices, 2u);
    EXPECT_TRUE(parameters.serial_channel);
    EXPECT_FALSE(parse_boot_parameters("xfencepost.channel=serial").serial_channel);
    EXPECT_EQ(parse_boot_parameters("fencepost.pm_devices=").pm_devices, 0u);
}

TEST(PmDevices, AreReadFromSysfs)
{
    const TemporaryDirectory sysfs(testing::TempDir(), "pm-devices-");
    const auto make = [&](const std::string &file, const std::string &text) {
        make_directories((sysfs.path() / file).parent_path());
        fencepost::write_file(sysfs.path() / file, text);
    };
    make("pmem1/size", "2048\n");
    make("pmem0/size", "262144\n");
    make("pmem0/queue/dax", "1\n");
    make("pmem0/device/resource", "0x100000000\n");
    make("pmem0/device/mode", "memory\n");
    make("pmem0s/size", "8\n");
    make("vda/size", "8\n");
    const std::vector<PmDevice> expected = {{"pmem0", 128 << 20, true, 4ull << 30, "memory"},
                                            {"pmem1", 1 << 20, false, 0, ""}};
    EXPECT_EQ(list_pm_devices(sysfs.path()), expected);
}

TEST(KernelLog, ALogThatCannotBeReadIsNotAnEmptyOne)
{
    KernelLogTail missing(LogFrom::now, "/nonexistent");
    EXPECT_EQ(missing.text(), "");
    EXPECT_NE(missing.failure().find("No such file"), std::string::npos) << missing.failure();
    KernelLogTail unreadable(LogFrom::now, "/tmp");
    EXPECT_EQ(unreadable.text(), "");
    EXPECT_NE(unreadable.failure().find("cannot read it"), std::string::npos)
        << unreadable.failure();
    KernelLogTail empty(LogFrom::now, "/dev/null");
    EXPECT_EQ(empty.text(), "");
    EXPECT_EQ(empty.failure(), "");
}

TEST(KernelLog, ARecordIsItsFirstLine)
{
    EXPECT_EQ(record_line("6,339,5140900,-;NET: ready\n SUBSYSTEM=pci\n"),
              "6,339,5140900,-;NET: ready");
    EXPECT_EQ(record_line("4,1,2,-;text"), "4,1,2,-;text");
}

} // namespace
} // namespace fencepost::agent
