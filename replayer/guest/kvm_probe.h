// SPDX-License-Identifier: GPL-2.0-or-later
// Whether KVM runs a guest here. The device can exist, open and create a virtual machine and still
// not run one, so only a probe guest under a deadline tells.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "replayer/guest/template_store.h"

namespace fencepost::guest {

enum class KvmState {
    absent,        // no device
    no_permission, // a device we may not open
    broken,        // present, but it does not run a guest
    works,
};

const char *to_string(KvmState state);

struct KvmProbe {
    KvmState state = KvmState::absent;
    std::string detail;

    Accelerator accelerator() const
    {
        return state == KvmState::works ? Accelerator::kvm : Accelerator::tcg;
    }
};

// `boot` starts a guest on KVM and throws if its agent does not answer in time; it is only called
// when the device looks right.
KvmProbe probe_kvm(const std::filesystem::path &device, const std::function<void()> &boot);

// The second half of it: what the probe guest says about a device that looks right.
KvmProbe judge_probe_boot(const std::function<void()> &boot);

// Boots the smallest guest of this image on KVM under a deadline.
void boot_kvm_guest(const std::filesystem::path &cache, const std::string &image,
                    std::chrono::milliseconds limit);

} // namespace fencepost::guest
