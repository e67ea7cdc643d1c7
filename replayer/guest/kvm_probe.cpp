// SPDX-License-Identifier: GPL-2.0-or-later
// See kvm_probe.h.
#include "replayer/guest/kvm_probe.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/scratch.h"
#include "replayer/guest/qemu_machine.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

const char *to_string(KvmState state)
{
    switch (state) {
    case KvmState::absent:
        return "absent";
    case KvmState::no_permission:
        return "no_permission";
    case KvmState::broken:
        return "broken";
    case KvmState::works:
        return "works";
    }
    return "unknown";
}

KvmProbe probe_kvm(const fs::path &device, const std::function<void()> &boot)
{
    const Fd kvm(open(device.c_str(), O_RDWR | O_CLOEXEC));
    if (!kvm && (errno == ENOENT || errno == ENODEV || errno == ENXIO))
        return {KvmState::absent, fmt::format("there is no {}", device.string())};
    if (!kvm && (errno == EACCES || errno == EPERM))
        return {KvmState::no_permission, fmt::format("{} is not ours to open", device.string())};
    if (!kvm)
        return {KvmState::broken,
                fmt::format("{} does not open: {}", device.string(), strerror(errno))};
    if (ioctl(kvm.get(), KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
        return {KvmState::broken, fmt::format("{} does not answer as KVM does", device.string())};
    const Fd machine(ioctl(kvm.get(), KVM_CREATE_VM, 0));
    if (!machine)
        return {KvmState::broken,
                fmt::format("KVM does not create a machine: {}", strerror(errno))};
    return judge_probe_boot(boot);
}

KvmProbe judge_probe_boot(const std::function<void()> &boot)
{
    try {
        boot();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::guest)
            throw;
        return {KvmState::broken,
                fmt::format("present, but a probe guest does not run: {}", error.what())};
    }
    return {KvmState::works, "a probe guest booted"};
}

void boot_kvm_guest(const fs::path &cache, const std::string &image,
                    std::chrono::milliseconds limit)
{
    ProcessBackend backend(require_qemu());
    TemplateStore store(cache, backend);
    const ScratchDirectory scratch(cache);
    GuestConfig config;
    config.image = image;
    config.ram = 256ull << 20;
    config.accelerator = Accelerator::kvm;
    config.pm.clear();
    store.boot(config, scratch.path() / "ram", {}, Deadline::after(limit));
}

} // namespace fencepost::guest
