// SPDX-License-Identifier: GPL-2.0-or-later
// libvirt's event loop, and why a domain shut down.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <libvirt/libvirt.h>

namespace fencepost::guest {

// libvirt's drivers talk to QEMU only while somebody runs its loop: a thread does, from the first
// call until the process ends.
void run_libvirt_events();

// What the event thread has heard of a domain's end.
class DomainEnd {
public:
    void set_reason(const std::string &reason);
    void set_stopped();
    // QEMU's reason for the shutdown, empty if it gave none. libvirt may see QEMU's end later than
    // we do: waits, not for long, until it has.
    std::string reason() const;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::string reason_;
    bool stopped_ = false;
};

// Listens from construction to destruction.
class DomainWatch {
public:
    DomainWatch(virConnectPtr connection, virDomainPtr domain);
    ~DomainWatch();

    DomainWatch(const DomainWatch &) = delete;
    DomainWatch &operator=(const DomainWatch &) = delete;

    std::string shutdown_reason() const { return end_->reason(); }

private:
    virConnectPtr connection_;
    std::shared_ptr<DomainEnd> end_; // shared with libvirt's event thread
    int shutdown_callback_ = -1;
    int lifecycle_callback_ = -1;
};

} // namespace fencepost::guest
