// SPDX-License-Identifier: GPL-2.0-or-later
// Which vCPU runs a callback. With several vCPUs in one thread QEMU 10 passes the vCPU that the
// code was translated on, and its vCPUs share translations; what QEMU itself goes by is right.
#pragma once

#include <vector>

namespace fencepost::tracer {

class RunningVcpu {
public:
    // From a vCPU's first callback, in the thread that runs them all. Throws a usage error when
    // there is a second vCPU and this QEMU does not tell which one runs.
    void add(unsigned vcpu);

    // `said`: QEMU's argument to the callback.
    unsigned index(unsigned said) const
    {
        if (states_.size() < 2) [[likely]]
            return said;
        return find();
    }

private:
    unsigned find() const;

    void *const *current_ = nullptr; // QEMU's own variable, of this thread
    std::vector<void *> states_;     // QEMU's object for each vCPU
};

} // namespace fencepost::tracer
