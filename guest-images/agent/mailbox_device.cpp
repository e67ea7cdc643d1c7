// SPDX-License-Identifier: GPL-2.0-or-later
// See mailbox_device.h.
#include "guest-images/agent/mailbox_device.h"

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/io.h>
#include <sys/mman.h>

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/directory.h"
#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/kernel_log.h"

namespace fencepost::agent {

namespace {

constexpr const char *kPciDevices = "/sys/bus/pci/devices";
constexpr const char *kCpus = "/sys/devices/system/cpu";

bool write_text(const std::string &path, const char *text)
{
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file && write(file.get(), text, 1) == 1;
}

bool is_mailbox(const std::string &device)
{
    char vendor[16];
    char number[16];
    std::snprintf(vendor, sizeof vendor, "0x%04x", kMailboxPciVendor);
    std::snprintf(number, sizeof number, "0x%04x", kMailboxPciDevice);
    return read_line(device + "/vendor") == vendor && read_line(device + "/device") == number;
}

bool switch_cpus(const char *state)
{
    bool all = true;
    for (const std::string &name : directory_names(kCpus)) {
        if (!name.starts_with("cpu") || name == "cpu0" ||
            name.find_first_not_of("0123456789", 3) != std::string::npos || name.size() == 3)
            continue;
        all = write_text(std::string(kCpus) + "/" + name + "/online", state) && all;
    }
    return all;
}

} // namespace

std::optional<Mailbox> find_mailbox()
{
    for (const std::string &name : directory_names(kPciDevices)) {
        const std::string device = std::string(kPciDevices) + "/" + name;
        if (!is_mailbox(device))
            continue;
        write_text(device + "/enable", "1");
        const Descriptor memory(open((device + "/resource2").c_str(), O_RDWR | O_SYNC | O_CLOEXEC));
        void *mapped = memory ? mmap(nullptr, kMailboxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0)
                              : MAP_FAILED;
        if (mapped != MAP_FAILED)
            return Mailbox({static_cast<std::byte *>(mapped), kMailboxBytes});
        note_in_kernel_log("cannot map the mailbox of " + name);
    }
    note_in_kernel_log("this machine has no mailbox");
    return std::nullopt;
}

void stop_machine()
{
    static const bool port_open = ioperm(kStopPort, 1, 1) == 0;
    if (port_open) {
        outb(kStopValue, kStopPort);
        return;
    }
    // Kernels can be built without ioperm(2).
    const Descriptor ports(open("/dev/port", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t ignored = pwrite(ports.get(), &kStopValue, 1, kStopPort);
}

bool keep_one_cpu()
{
    return switch_cpus("0");
}

bool restore_cpus()
{
    return switch_cpus("1");
}

} // namespace fencepost::agent
