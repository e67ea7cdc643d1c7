// SPDX-License-Identifier: GPL-2.0-or-later
// Machines through libvirt: the embedded driver, which needs no daemon, or any URI.
#pragma once

#include <memory>
#include <string>

#include "replayer/guest/machine.h"
#include "replayer/guest/qemu_command.h"

namespace fencepost::guest {

class LibvirtConnection; // libvirt's headers stay in the .cpp

// The domain's XML; `sockets` is the directory where QEMU finds our listening sockets.
std::string domain_xml(const QemuProgram &qemu, const MachinePlan &plan, const std::string &name,
                       const std::filesystem::path &sockets);

class LibvirtBackend : public Backend {
public:
    // An empty URI is the embedded driver, rooted in a scratch directory of `cache`.
    LibvirtBackend(QemuProgram qemu, const std::string &uri, const std::filesystem::path &cache);
    ~LibvirtBackend() override;

    std::string name() const override;
    std::string identity(const MachinePlan &plan) const override;
    std::unique_ptr<Machine> start(const MachinePlan &plan, Deadline deadline) override;

private:
    QemuProgram qemu_;
    std::filesystem::path cache_;
    std::shared_ptr<LibvirtConnection>
        connection_; // shared with the machines, which may outlive us
};

} // namespace fencepost::guest
