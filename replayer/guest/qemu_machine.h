// SPDX-License-Identifier: GPL-2.0-or-later
// A machine that is a QEMU process of ours. It has no files of its own: channels and monitor are
// socket pairs, stderr is a memfd, and the kernel kills it when we end, however we end.
#pragma once

#include <optional>

#include "base/child_process.h"
#include "replayer/guest/machine.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/guest/qmp.h"

namespace fencepost::guest {

class QemuMachine : public Machine {
public:
    QemuMachine(const QemuProgram &qemu, const MachinePlan &plan, Deadline deadline);

    Channels take_channels() override;
    nlohmann::json execute(const std::string &command, const nlohmann::json &arguments,
                           Deadline deadline) override;
    int end_fd() const override { return process_->end_fd(); }
    std::optional<MachineEnd> poll_end() override;
    std::string last_words() override;

    pid_t pid() const { return process_->pid(); }
    // Readable when QEMU has something to say.
    int monitor_fd() const { return monitor_->fd(); }
    // How often the machine has stopped so far, by itself or because it was told to.
    std::size_t stop_count();
    // False: it still runs at the deadline.
    bool wait_end(Deadline deadline) { return process_->wait(deadline).has_value(); }
    // How QEMU ended; nothing while it runs.
    std::optional<ProcessEnd> process_end() { return process_->poll_end(); }

private:
    Channels channels_;
    Fd stderr_;
    std::optional<ChildProcess> process_;
    std::optional<QmpSession> monitor_;
};

class ProcessBackend : public Backend {
public:
    explicit ProcessBackend(QemuProgram qemu) : qemu_(std::move(qemu)) {}

    std::string name() const override { return "process"; }
    std::string identity(const MachinePlan &plan) const override;
    std::unique_ptr<Machine> start(const MachinePlan &plan, Deadline deadline) override;

private:
    QemuProgram qemu_;
};

} // namespace fencepost::guest
