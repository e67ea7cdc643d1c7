// SPDX-License-Identifier: GPL-2.0-or-later
// See libvirt_events.h.
#include "replayer/guest/libvirt_events.h"

#include <cstdlib>
#include <thread>

#include <libvirt/libvirt-qemu.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

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

void DomainEnd::set_reason(const std::string &reason)
{
    const std::lock_guard guard(mutex_);
    if (reason_.empty()) // a second one is libvirt taking down what has shut down
        reason_ = reason;
}

void DomainEnd::set_stopped()
{
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

std::string DomainEnd::reason() const
{
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, std::chrono::seconds(5), [this] { return stopped_; });
    return reason_;
}

namespace {

using SharedEnd = std::shared_ptr<DomainEnd>;

void on_shutdown(virConnectPtr, virDomainPtr, const char *, long long, unsigned,
                 const char *details, void *opaque)
{
    const auto data = json_or_discarded(details ? details : "{}");
    if (data.is_object())
        (*static_cast<SharedEnd *>(opaque))->set_reason(data.value("reason", std::string()));
}

int on_lifecycle(virConnectPtr, virDomainPtr, int event, int, void *opaque)
{
    if (event == VIR_DOMAIN_EVENT_STOPPED)
        (*static_cast<SharedEnd *>(opaque))->set_stopped();
    return 0;
}

void release(void *opaque)
{
    delete static_cast<SharedEnd *>(opaque);
}

} // namespace

DomainWatch::DomainWatch(virConnectPtr connection, virDomainPtr domain)
    : connection_(connection), end_(std::make_shared<DomainEnd>())
{
    shutdown_callback_ = virConnectDomainQemuMonitorEventRegister(
        connection, domain, "SHUTDOWN", on_shutdown, new SharedEnd(end_), release, 0);
    lifecycle_callback_ = virConnectDomainEventRegisterAny(
        connection, domain, VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle),
        new SharedEnd(end_), release);
    if (shutdown_callback_ < 0 || lifecycle_callback_ < 0)
        fail(ErrorKind::guest, "libvirt does not report the machine's events");
}

DomainWatch::~DomainWatch()
{
    virConnectDomainQemuMonitorEventDeregister(connection_, shutdown_callback_);
    virConnectDomainEventDeregisterAny(connection_, lifecycle_callback_);
}

} // namespace fencepost::guest
