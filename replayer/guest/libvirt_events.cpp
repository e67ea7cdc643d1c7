// SPDX-License-Identifier: GPL-2.0-or-later
// See libvirt_events.h.
#include "replayer/guest/libvirt_events.h"

#include <cstdlib>
#include <thread>

#include <libvirt/libvirt-qemu.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace fencepost::guest {

void run_libvirt_events()
{
    static std::once_flag started;
    std::call_once(started, [] {
        // libvirt logs to stderr by itself; what matters reaches us as errors.
        setenv("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null", 0);
        if (virEventRegisterDefaultImpl() < 0 || virInitialize() < 0)
            fail(ErrorKind::guest, "libvirt cannot be initialised");
        // Detached: the loop has no end but the process's.
        std::thread([] {
            while (virEventRunDefaultImpl() == 0)
                ;
        }).detach();
    });
}

void ShutdownReason::set(const std::string &reason)
{
    const std::lock_guard guard(mutex_);
    reason_ = reason;
}

std::string ShutdownReason::get() const
{
    const std::lock_guard guard(mutex_);
    return reason_;
}

int watch_shutdown(virConnectPtr connection, virDomainPtr domain, const std::shared_ptr<ShutdownReason> &reason)
{
    auto on_event = [](virConnectPtr, virDomainPtr, const char *, long long, unsigned, const char *details, void *opaque) {
        const auto data = nlohmann::json::parse(details ? details : "{}", nullptr, false);
        if (data.is_object())
            (*static_cast<std::shared_ptr<ShutdownReason> *>(opaque))->set(data.value("reason", std::string()));
    };
    auto release = [](void *opaque) { delete static_cast<std::shared_ptr<ShutdownReason> *>(opaque); };
    const int id = virConnectDomainQemuMonitorEventRegister(
        connection, domain, "SHUTDOWN", on_event, new std::shared_ptr<ShutdownReason>(reason), release, 0);
    if (id < 0)
        fail(ErrorKind::guest, "libvirt does not report QEMU's events");
    return id;
}

} // namespace fencepost::guest
