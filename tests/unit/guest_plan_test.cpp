// SPDX-License-Identifier: GPL-2.0-or-later
// From a configuration to QEMU's command line, libvirt's XML and the bytes of a PM file; no
// machine.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/files.h"
#include "replayer/guest/libvirt_machine.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/qemu_command.h"

namespace fencepost::guest {
namespace {

std::string refusal(const std::function<void()> &work)
{
    try {
        work();
    } catch (const Error &error) {
        EXPECT_EQ(error.exit_code(), 2);
        return error.what();
    }
    return "accepted";
}

TEST(Size, ReadsWhatPeopleWrite)
{
    EXPECT_EQ(parse_size("16M"), 16u << 20);
    EXPECT_EQ(parse_size("1G"), 1u << 30);
    EXPECT_EQ(parse_size("2MiB"), 2u << 20);
    EXPECT_EQ(parse_size("4096"), 4096u);
    for (const char *bad :
         {"", "M", "-1M", "1.5G", "12X", "99999999999999999999", "20000000000G", "1M "})
        EXPECT_NE(refusal([&] { parse_size(bad); }), "accepted") << bad;
    EXPECT_EQ(format_size(128u << 20), "128M");
    EXPECT_EQ(format_size(1000), "1000");
}

TEST(Config, RefusesWhatCannotBe)
{
    GuestConfig config;
    validate(config);
    config.pm[0].size = 8u << 20;
    EXPECT_EQ(refusal([&] { validate(config); }), "a PM device is 16M to 1G large, not 8M");
    config.pm[0].size = 2ull << 30;
    EXPECT_EQ(refusal([&] { validate(config); }), "a PM device is 16M to 1G large, not 2G");
    config.pm[0].size = 17u << 20;
    EXPECT_EQ(refusal([&] { validate(config); }),
              "the size of a PM device is a multiple of 2M, 17M is not");
    config = {};
    config.pm.push_back({64u << 20, PmAttach::e820});
    EXPECT_NE(refusal([&] { validate(config); }), "accepted");
    config = {};
    config.cpus = 0;
    EXPECT_NE(refusal([&] { validate(config); }), "accepted");
    config = {};
    config.ram = 64u << 20;
    EXPECT_NE(refusal([&] { validate(config); }), "accepted");
}

MachinePlan plan_with(GuestConfig config)
{
    MachinePlan plan;
    plan.config = std::move(config);
    plan.kernel = "K";
    plan.initrd = "I";
    plan.ram_file = "R,1";
    plan.pm_files.assign(plan.config.pm.size(), "P");
    return plan;
}

bool has_pair(const std::vector<std::string> &command, const std::string &option,
              const std::string &value)
{
    for (std::size_t i = 0; i + 1 < command.size(); ++i)
        if (command[i] == option && command[i + 1] == value)
            return true;
    return false;
}

TEST(QemuCommand, SharesRamAtTheFreezeAndCopiesItAtTheRestore)
{
    MachinePlan plan = plan_with({});
    const QemuProgram qemu = {"qemu", "10.0", 10, 0};
    EXPECT_TRUE(has_pair(qemu_command(qemu, plan, {}), "-object",
                         "memory-backend-file,id=ram,mem-path=R,,1,size=536870912,share=on"));
    plan.restore = true;
    const auto restored = qemu_command(qemu, plan, {});
    EXPECT_TRUE(has_pair(
        restored, "-object",
        "memory-backend-file,id=ram,mem-path=R,,1,size=536870912,share=off,readonly=on,rom=off"));
    EXPECT_TRUE(has_pair(restored, "-incoming", "defer"));
}

TEST(QemuCommand, PutsE820PmBehindRam)
{
    GuestConfig config;
    config.pm = {{64u << 20, PmAttach::e820}, {128u << 20, PmAttach::e820}};
    const auto arguments = memory_arguments(plan_with(config));
    EXPECT_TRUE(has_pair(arguments, "-machine", "max-ram-below-4g=536870912"));
    EXPECT_TRUE(has_pair(arguments, "-m", "704M"));
    EXPECT_NE(kernel_command_line(config).find("memmap=64M!0x100000000 memmap=128M!0x104000000"),
              std::string::npos);
}

TEST(QemuCommand, CountsInstructionsForRecordings)
{
    GuestConfig config;
    EXPECT_TRUE(clock_arguments(config).empty());
    config.clock = Clock::icount;
    EXPECT_TRUE(has_pair(clock_arguments(config), "-icount", "shift=0,sleep=off"));
    EXPECT_EQ(cpu_model(config),
              "max,vendor=GenuineIntel,family=6,model=85,stepping=7,-monitor,-rdrand,-rdseed");
}

TEST(QemuCommand, EmulatesAnIntelCpu)
{
    const MachinePlan plan = plan_with({});
    const std::string model = "max,vendor=GenuineIntel,family=6,model=85,stepping=7,-monitor";
    EXPECT_TRUE(has_pair(qemu_command({"qemu", "10.0", 10, 0}, plan, {}), "-cpu", model));
    // It is in what a template is known by, and the last of two counts.
    const std::string domain = domain_xml({"qemu", "10.0", 10, 0}, plan, "N", "S");
    EXPECT_NE(domain.find("<qemu:arg value='-cpu'/>\n    <qemu:arg value='" + model + "'/>"),
              std::string::npos)
        << domain;
    GuestConfig kvm;
    kvm.accelerator = Accelerator::kvm;
    EXPECT_EQ(cpu_model(kvm), "host");
}

// Whatever could interrupt the guest at the host's pleasure is not there.
TEST(QemuCommand, ARecordingGuestGetsNoInput)
{
    GuestConfig config;
    config.clock = Clock::icount;
    config.recording = true;
    MachinePlan plan = plan_with(config);
    plan.mailbox_file = "M";
    plan.console_file = "C";
    const auto command = qemu_command({"qemu", "10.0", 10, 0}, plan, {});
    EXPECT_TRUE(has_pair(command, "-action", "panic=pause"));
    EXPECT_TRUE(has_pair(command, "-device", "pvpanic,ioport=1285"));
    EXPECT_TRUE(has_pair(command, "-device", "virtio-pmem-pci,memdev=mailbox,memaddr=0x240000000"));
    EXPECT_TRUE(has_pair(command, "-chardev", "file,id=console,path=C"));
    EXPECT_EQ(std::count(command.begin(), command.end(), "-serial"), 1);
    for (const std::string &argument : command)
        EXPECT_EQ(argument.find("virtio-serial"), std::string::npos);
    EXPECT_NE(kernel_command_line(config).find(" fencepost.recording"), std::string::npos);
    config.clock = Clock::host;
    EXPECT_EQ(refusal([&] { validate(config); }),
              "a recording guest is emulated and counts instructions");
}

TEST(QemuCommand, IsQuotedForAShell)
{
    EXPECT_EQ(quoted({"a", "b c", "it's", ""}), "a 'b c' 'it'\\''s' ''");
}

TEST(QemuProgram, NineTwoIsTheOldest)
{
    EXPECT_FALSE((QemuProgram{"q", "", 7, 2}.sufficient()));
    EXPECT_FALSE((QemuProgram{"q", "", 9, 1}.sufficient()));
    EXPECT_TRUE((QemuProgram{"q", "", 9, 2}.sufficient()));
    EXPECT_TRUE((QemuProgram{"q", "", 10, 0}.sufficient()));
}

TEST(QemuProgram, OneThatIsTooOldOrNoneIsNamed)
{
    const TemporaryDirectory directory("/tmp", "fp-qemu-");
    const auto program = directory.path() / "qemu";
    write_file(program, "#!/bin/sh\necho 'QEMU emulator version 7.2.0 (Debian)'\n");
    chmod(program.c_str(), 0755);
    setenv("FENCEPOST_QEMU", program.c_str(), 1);
    try {
        require_qemu();
        ADD_FAILURE() << "7.2 accepted";
    } catch (const Error &error) {
        EXPECT_EQ(error.exit_code(), 4);
        EXPECT_NE(std::string(error.what()).find("is QEMU 7.2, 9.2 or newer is needed"),
                  std::string::npos);
    }
    setenv("FENCEPOST_QEMU", "/nowhere/qemu", 1);
    EXPECT_THROW(require_qemu(), Error);
    unsetenv("FENCEPOST_QEMU");
}

#ifdef FENCEPOST_LIBVIRT
TEST(DomainXml, EscapesWhatAUserMayWrite)
{
    GuestConfig config;
    config.kernel_arguments = "a='<&>'";
    const std::string xml = domain_xml({"qemu", "10.0", 10, 0}, plan_with(config), "name", "/s");
    EXPECT_NE(xml.find("a=&apos;&lt;&amp;&gt;&apos;</cmdline>"), std::string::npos);
    EXPECT_NE(xml.find("<source mode='connect' path='/s/control_virtio'/>"), std::string::npos);
}
#endif

// The sums are computed here the other way round, as the kernel's reader would: from the bytes.
TEST(PmFile, HasAValidInfoBlock)
{
    const TemporaryDirectory directory("/tmp", "fp-pm-");
    const auto path = directory.path() / "pm";
    create_pm_file(path, {130u << 20, PmAttach::nvdimm});
    const std::string bytes = read_file(path);
    ASSERT_EQ(bytes.size(), 130u << 20);
    std::array<std::uint32_t, 1024> words;
    std::memcpy(words.data(), bytes.data() + 4096, 4096);
    EXPECT_EQ(bytes.substr(4096, 16), std::string("NVDIMM_PFN_INFO\0", 16));
    const std::uint64_t stored = words[1022] | std::uint64_t(words[1023]) << 32;
    words[1022] = words[1023] = 0;
    std::uint32_t low = 0, high = 0;
    for (std::uint32_t word : words) {
        low += word;
        high += low;
    }
    EXPECT_EQ(stored, low | std::uint64_t(high) << 32);
    std::uint64_t data_offset, pages;
    std::memcpy(&data_offset, bytes.data() + 4096 + 56, 8);
    std::memcpy(&pages, bytes.data() + 4096 + 64, 8);
    EXPECT_EQ(data_offset, 2u << 20);
    EXPECT_EQ(pages, (128u << 20) / 4096);
    EXPECT_EQ(bytes.find_first_not_of('\0', 8192), std::string::npos);
}

TEST(PmFile, E820HasNothingButData)
{
    const TemporaryDirectory directory("/tmp", "fp-pm-");
    const auto path = directory.path() / "pm";
    const PmConfig device = {16u << 20, PmAttach::e820};
    create_pm_file(path, device);
    EXPECT_EQ(read_file(path).find_first_not_of('\0'), std::string::npos);
    EXPECT_EQ(pm_data_offset(device), 0u);
    make_file_system(path, device, "ext4");
    EXPECT_EQ(static_cast<unsigned char>(read_file(path)[1024 + 56]),
              0x53); // ext4's magic, low byte
    EXPECT_NE(refusal([&] {
                  make_file_system(path, device, "ext4", {"-O", "nonsense"});
              }),
              "accepted");
    EXPECT_NE(refusal([&] { make_file_system(path, device, "fat"); }), "accepted");
}

} // namespace
} // namespace fencepost::guest
