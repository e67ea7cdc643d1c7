// SPDX-License-Identifier: GPL-2.0-or-later
// libvirt's event loop, and why a domain shut down.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <libvirt/libvirt.h>

namespace fencepost::guest {

// libvirt's drivers talk to QEMU only while somebody runs its loop: a thread does, from the first
// call until the process ends.
void run_libvirt_events();

// QEMU's reason for a shutdown, set by the event thread.
class ShutdownReason {
public:
    void set(const std::string &reason);
    std::string get() const;

private:
    mutable std::mutex mutex_;
    std::string reason_;
};

// Returns the id for virConnectDomainQemuMonitorEventDeregister.
int watch_shutdown(virConnectPtr connection, virDomainPtr domain, const std::shared_ptr<ShutdownReason> &reason);

} // namespace fencepost::guest
