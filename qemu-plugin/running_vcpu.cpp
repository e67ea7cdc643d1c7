// SPDX-License-Identifier: GPL-2.0-or-later
// See running_vcpu.h. The two names are no part of the plugin API, but every QEMU that can load
// modules exports them, as Debian's does.
#include "qemu-plugin/running_vcpu.h"

#include <dlfcn.h>

#include "base/error.h"

namespace fencepost::tracer {

void RunningVcpu::add(unsigned vcpu)
{
    using GetCpu = void *(*)(int index);
    const auto get_cpu = reinterpret_cast<GetCpu>(dlsym(RTLD_DEFAULT, "qemu_get_cpu"));
    current_ = static_cast<void *const *>(dlsym(RTLD_DEFAULT, "current_cpu"));
    if (states_.size() <= vcpu)
        states_.resize(vcpu + 1);
    if (states_.size() > 1 && (!get_cpu || !current_))
        fail(ErrorKind::usage,
             "this QEMU does not tell which of several vCPUs runs; record with one");
    if (get_cpu)
        states_[vcpu] = get_cpu(static_cast<int>(vcpu));
}

unsigned RunningVcpu::find() const
{
    unsigned vcpu = 0;
    while (states_[vcpu] != *current_) {
        ++vcpu;
        CHECK(vcpu < states_.size(), "a callback outside every vCPU");
    }
    return vcpu;
}

} // namespace fencepost::tracer
