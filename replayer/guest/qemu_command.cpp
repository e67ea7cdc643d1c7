// SPDX-License-Identifier: GPL-2.0-or-later
// See qemu_command.h. RAM is always a file: shared while a template boots, so that the file is the
// guest's RAM at the freeze; private when it is restored, so that any number of guests start from
// it.
#include "replayer/guest/qemu_command.h"

#include <cstdio>
#include <cstdlib>

#include "base/byte_size.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "guest-images/agent/mailbox.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kDeviceMemory = 8ull << 30; // address space for devices that are memory

std::string file_backend(const std::string &id, const fs::path &path, std::uint64_t size,
                         const char *sharing)
{
    return fmt::format("memory-backend-file,id={},mem-path={},size={},{}", id, escape_commas(path),
                       size, sharing);
}

// The mailbox, the port by which the guest stops itself, and a console that never makes it wait:
// a device that interrupts the guest when the host pleases would end at another instruction each
// time.
std::vector<std::string> recording_arguments(const MachinePlan &plan)
{
    return {"-action",
            "panic=pause",
            "-device",
            fmt::format("pvpanic,ioport={}", agent::kStopPort),
            "-object",
            file_backend("mailbox", plan.mailbox_file, agent::kMailboxBytes, "share=on"),
            "-device",
            fmt::format("virtio-pmem-pci,memdev=mailbox,memaddr={:#x}", agent::kMailboxAddress),
            "-chardev",
            fmt::format("file,id=console,path={}", escape_commas(plan.console_file)),
            "-serial",
            "chardev:console"};
}

} // namespace

bool QemuProgram::sufficient() const
{
    return major > kMinQemuMajor || (major == kMinQemuMajor && minor >= kMinQemuMinor);
}

QemuProgram find_qemu()
{
    QemuProgram qemu;
    if (const char *chosen = std::getenv("FENCEPOST_QEMU"); chosen && *chosen)
        qemu.path = chosen;
    else if (const auto found = find_program("qemu-system-x86_64"))
        qemu.path = *found;
    else
        fail(ErrorKind::guest, "qemu-system-x86_64 is not installed; run ./setup");
    const CommandResult result = run_command(
        {qemu.path.string(), "--version"}, {.deadline = Deadline::after(std::chrono::seconds(30))});
    const std::string intro = "QEMU emulator version ";
    if (!result.success() || !result.output.starts_with(intro) ||
        std::sscanf(result.output.c_str() + intro.size(), "%d.%d", &qemu.major, &qemu.minor) != 2)
        fail(ErrorKind::guest, "{} does not say which QEMU it is: {}", qemu.path.string(),
             result.last_words());
    qemu.version = result.output.substr(intro.size(), result.output.find('\n') - intro.size());
    return qemu;
}

QemuProgram require_qemu()
{
    const QemuProgram qemu = find_qemu();
    if (!qemu.sufficient())
        fail(ErrorKind::guest, "{} is QEMU {}.{}, {}.{} or newer is needed; run ./setup",
             qemu.path.string(), qemu.major, qemu.minor, kMinQemuMajor, kMinQemuMinor);
    return qemu;
}

std::string kernel_command_line(const GuestConfig &config)
{
    // nokaslr: addresses mean the same in every run. mitigations=off: calls and returns stay
    // pairs, and emulation need not emulate speculation barriers. no_timer_check: the check counts
    // loops while it waits for timer interrupts, and panics when QEMU had no CPU meanwhile.
    std::string line =
        "console=ttyS0 quiet panic=-1 nokaslr mitigations=off audit=0 no_timer_check";
    line += fmt::format(" fencepost.pm_devices={}", config.pm.size());
    if (config.recording)
        line += " fencepost.recording";
    for (std::size_t i = 0; i < config.pm.size(); ++i)
        if (config.pm[i].attach == PmAttach::e820)
            line +=
                fmt::format(" memmap={}!{:#x}", format_size(config.pm[i].size), pm_base(config, i));
    if (!config.kernel_arguments.empty())
        line += " " + config.kernel_arguments;
    return line;
}

std::string cpu_model(const GuestConfig &config)
{
    if (config.accelerator == Accelerator::kvm)
        return "host";
    // An Intel CPU, by the numbers of the first ones that had PM: TCG's own is an AMD one, where
    // older kernels patch mfence into every system call as a speculation barrier, and that counts
    // as a persist barrier. Without monitor: kernels may idle with mwait on Intel, which TCG does
    // not wait at.
    std::string model = "max,vendor=GenuineIntel,family=6,model=85,stepping=7,-monitor";
    if (config.clock == Clock::icount)
        model += ",-rdrand,-rdseed";
    return model;
}

std::vector<std::string> memory_arguments(const MachinePlan &plan)
{
    const GuestConfig &config = plan.config;
    const char *ram_sharing = plan.restore ? "share=off,readonly=on,rom=off" : "share=on";
    std::vector<std::string> arguments = {
        "-object", plan.ram_file.empty()
                       ? fmt::format("memory-backend-ram,id=ram,size={}", config.ram)
                       : file_backend("ram", plan.ram_file, config.ram, ram_sharing)};
    auto add = [&](std::initializer_list<std::string> more) {
        arguments.insert(arguments.end(), more);
    };
    const bool e820 = !config.pm.empty() && config.pm.front().attach == PmAttach::e820;
    std::uint64_t pm_total = 0;
    for (const PmConfig &device : config.pm)
        pm_total += device.size;

    if (e820) {
        // RAM ends where PM must not begin: all of the first node is below 4 GiB, so the nodes
        // of PM follow each other from 4 GiB on.
        add({"-machine", fmt::format("max-ram-below-4g={}", config.ram)});
        std::string size = fmt::format("{}M", (config.ram + pm_total) >> 20);
        if (config.recording) // room for the mailbox
            size +=
                fmt::format(",slots=1,maxmem={}M", (config.ram + pm_total + kDeviceMemory) >> 20);
        add({"-m", size});
        add({"-numa", fmt::format("node,memdev=ram,cpus=0-{}", config.cpus - 1)});
    } else {
        add({"-machine",
             fmt::format("memory-backend=ram{}", config.pm.empty() ? "" : ",nvdimm=on")});
        add({"-m", fmt::format("{}M,slots=4,maxmem=8G", config.ram >> 20)});
    }
    for (std::size_t i = 0; i < config.pm.size(); ++i) {
        const std::string id = fmt::format("pm{}", i);
        const char *alignment = e820 ? "share=on" : "share=on,align=2M";
        add({"-object", file_backend(id, plan.pm_files.at(i), config.pm[i].size, alignment)});
        if (e820)
            add({"-numa", fmt::format("node,memdev={}", id)});
        else
            add({"-device", fmt::format("nvdimm,id=nvdimm{},memdev={}", i, id)});
    }
    return arguments;
}

std::vector<std::string> clock_arguments(const GuestConfig &config)
{
    if (config.clock == Clock::host)
        return {};
    return {"-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm", "-seed", "42"};
}

namespace {

// The machine without what it is connected to.
std::vector<std::string> machine_command(const std::string &program, const MachinePlan &plan,
                                         const std::string &kernel_arguments)
{
    const GuestConfig &config = plan.config;
    std::vector<std::string> command = {program,    "-nodefaults", "-no-user-config",
                                        "-display", "none",        "-no-reboot"};
    auto add = [&](const std::vector<std::string> &more) {
        command.insert(command.end(), more.begin(), more.end());
    };
    add({"-machine", "q35,sata=off,smbus=off,usb=off,vmport=off"});
    add({"-accel", config.accelerator == Accelerator::kvm ? "kvm" : "tcg,thread=single"});
    add({"-cpu", cpu_model(config), "-smp", std::to_string(config.cpus)});
    add(memory_arguments(plan));
    add(clock_arguments(config));
    add({"-kernel", plan.kernel.string(), "-initrd", plan.initrd.string()});
    add({"-append", kernel_command_line(config) + kernel_arguments});
    return command;
}

} // namespace

std::vector<std::string> standalone_command(const MachinePlan &plan, const std::string &program,
                                            const std::string &console,
                                            const std::string &kernel_arguments)
{
    std::vector<std::string> command = machine_command(program, plan, " " + kernel_arguments);
    command.insert(command.end(), {"-serial", "file:" + console});
    return command;
}

std::vector<std::string> qemu_command(const QemuProgram &qemu, const MachinePlan &plan,
                                      const ChannelFds &fds)
{
    const GuestConfig &config = plan.config;
    std::vector<std::string> command = machine_command(qemu.path.string(), plan, "");
    auto add = [&](const std::vector<std::string> &more) {
        command.insert(command.end(), more.begin(), more.end());
    };
    if (config.recording) {
        add(recording_arguments(plan));
        add({"-chardev", fmt::format("socket,id=qmp,fd={}", fds.qmp), "-mon",
             "chardev=qmp,mode=control"});
        if (plan.restore)
            add({"-incoming", "defer"});
        add(plan.extra_arguments);
        return command;
    }
    auto socket = [&](const char *id, int fd) {
        add({"-chardev", fmt::format("socket,id={},fd={}", id, fd)});
    };
    socket("qmp", fds.qmp);
    add({"-mon", "chardev=qmp,mode=control"});
    socket("console", fds.console);
    socket("control_serial", fds.control_serial);
    socket("log_serial", fds.log_serial);
    for (const char *id : {"console", "control_serial", "log_serial"})
        add({"-serial", fmt::format("chardev:{}", id)});
    socket("control_virtio", fds.control_virtio);
    socket("log_virtio", fds.log_virtio);
    add({"-device", "virtio-serial-pci,max_ports=4"});
    add({"-device", "virtserialport,chardev=control_virtio,name=fencepost.control"});
    add({"-device", "virtserialport,chardev=log_virtio,name=fencepost.log"});
    if (plan.restore)
        add({"-incoming", "defer"});
    add(plan.extra_arguments);
    return command;
}

std::string escape_commas(const fs::path &path)
{
    std::string text;
    for (char c : path.string())
        text += c == ',' ? std::string(",,") : std::string(1, c);
    return text;
}

std::string quoted(const std::vector<std::string> &command)
{
    std::string line;
    for (const std::string &argument : command)
        line += (line.empty() ? "" : " ") + shell_word(argument);
    return line;
}

std::string shown_command(const MachinePlan &plan)
{
    return quoted(qemu_command(require_qemu(), plan, ChannelFds()));
}

} // namespace fencepost::guest
