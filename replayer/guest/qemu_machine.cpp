// SPDX-License-Identifier: GPL-2.0-or-later
// See qemu_machine.h.
#include "replayer/guest/qemu_machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.h"

namespace fencepost::guest {

using nlohmann::json;

QemuMachine::QemuMachine(const QemuProgram &qemu, const MachinePlan &plan, Deadline deadline)
    : stderr_(memfd_create("qemu-stderr", MFD_CLOEXEC))
{
    if (!stderr_)
        fail_errno("cannot make a memfd");
    const ChannelFds numbers;
    std::vector<Fd> theirs;
    SpawnOptions options;
    auto connect = [&](int number) {
        auto [ours, qemus] = socket_pair();
        options.fds[number] = qemus.get();
        theirs.push_back(std::move(qemus));
        return std::move(ours);
    };
    Fd qmp = connect(numbers.qmp);
    if (!plan.config.recording) {
        channels_.control_virtio = connect(numbers.control_virtio);
        channels_.control_serial = connect(numbers.control_serial);
        channels_.log_virtio = connect(numbers.log_virtio);
        channels_.log_serial = connect(numbers.log_serial);
        channels_.console = connect(numbers.console);
    }
    options.fds[1] = stderr_.get();
    options.fds[2] = stderr_.get();
    const std::vector<std::string> command = qemu_command(qemu, plan, numbers);
    spdlog::debug("{}", quoted(command));
    process_.emplace(command, options);
    theirs.clear();
    try {
        monitor_.emplace(std::move(qmp), process_->end_fd(), deadline);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::guest &&
            process_->wait(Deadline::after(std::chrono::seconds(2))))
            fail(ErrorKind::guest, "QEMU did not start: {}", last_words());
        throw;
    }
}

Channels QemuMachine::take_channels()
{
    return std::move(channels_);
}

json QemuMachine::execute(const std::string &command, const json &arguments, Deadline deadline)
{
    return monitor_->execute(command, arguments, deadline);
}

std::size_t QemuMachine::stop_count()
{
    monitor_->drain();
    std::size_t count = 0;
    for (const json &event : monitor_->events())
        count += event.value("event", "") == "STOP";
    return count;
}

std::optional<MachineEnd> QemuMachine::poll_end()
{
    if (!process_->poll_end())
        return std::nullopt;
    monitor_->drain();
    for (const json &event : monitor_->events()) {
        if (event.value("event", "") != "SHUTDOWN")
            continue;
        const std::string reason = event.value("data", json::object()).value("reason", "");
        if (reason == "guest-shutdown")
            return MachineEnd::powered_off;
        if (reason == "guest-reset")
            return MachineEnd::reset;
    }
    return MachineEnd::died;
}

std::string QemuMachine::last_words()
{
    char buffer[65536];
    const ssize_t got = pread(stderr_.get(), buffer, sizeof buffer, 0);
    const std::string text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
    // The tracer names the cause; what QEMU says after it is that a plugin failed.
    if (const std::size_t tracer = text.find("fencepost-tracer: "); tracer != std::string::npos)
        return text.substr(tracer, text.find('\n', tracer) - tracer);
    const std::string line = last_line(text);
    if (!line.empty())
        return line;
    const auto end = process_->poll_end();
    return end ? end->describe() : "no word from QEMU";
}

std::string ProcessBackend::identity(const MachinePlan &plan) const
{
    return qemu_.version + "\n" + quoted(qemu_command(qemu_, without_files(plan), ChannelFds()));
}

std::unique_ptr<Machine> ProcessBackend::start(const MachinePlan &plan, Deadline deadline)
{
    return std::make_unique<QemuMachine>(qemu_, plan, deadline);
}

} // namespace fencepost::guest
