// SPDX-License-Identifier: GPL-2.0-or-later
// See mailbox_device.h.
#include "guest-images/agent/mailbox_device.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/directory.h"
#include "guest-images/agent/kernel_log.h"

namespace fencepost::agent {

namespace {

constexpr const char *kCpus = "/sys/devices/system/cpu";

bool write_text(const std::string &path, const char *text)
{
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file && write(file.get(), text, 1) == 1;
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
    const Descriptor memory(open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC));
    void *mapped = memory ? mmap(nullptr, kMailboxBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                 memory.get(), static_cast<off_t>(kMailboxAddress))
                          : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        note_in_kernel_log(std::string("cannot map the mailbox through /dev/mem: ") +
                           std::strerror(errno));
        return std::nullopt;
    }
    const Mailbox mailbox({static_cast<std::byte *>(mapped), kMailboxBytes});
    if (mailbox.valid())
        return mailbox;
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

void keep_awake()
{
    if (sysconf(_SC_NPROCESSORS_CONF) < 2 || fork() != 0)
        return;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    const sched_param none = {};
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (;;)
        asm volatile("pause"); // gives the turn to the next CPU
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
