// SPDX-License-Identifier: GPL-2.0-or-later
// See guest.h.
#include "replayer/guest/guest.h"

#include <array>

#include <poll.h>

#include "base/child_process.h"
#include "base/interrupt.h"
#include "replayer/guest/run_delay.h"

namespace fencepost::guest {

namespace {

// How long QEMU may take to finish dying once its channels are closed.
constexpr std::chrono::seconds kDyingTime(5);

bool wait_readable(int fd, Deadline deadline)
{
    std::array<pollfd, 2> waited = {{{fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}}};
    poll(waited.data(), waited.size(), deadline.poll_timeout());
    if (waited[1].revents)
        throw_if_interrupted();
    return waited[0].revents != 0;
}

std::string kernel_panicked(const std::string &panic)
{
    return "the guest's kernel panicked: " + panic;
}

template <typename Reply> agent::Outcome<Reply> outcome(const Answer<Reply> &answer)
{
    if (answer)
        return *answer;
    return Failure{answer.error_number(), answer.message()};
}

} // namespace

const char *to_string(GuestEnd end)
{
    switch (end) {
    case GuestEnd::powered_off:
        return "powered_off";
    case GuestEnd::rebooted:
        return "rebooted";
    case GuestEnd::panicked:
        return "panicked";
    case GuestEnd::crashed:
        return "crashed";
    case GuestEnd::hung:
        return "hung";
    case GuestEnd::agent_broken:
        return "agent_broken";
    case GuestEnd::machine_died:
        return "machine_died";
    }
    return "unknown";
}

Guest::Guest(std::unique_ptr<Machine> machine) : machine_(std::move(machine))
{
    Channels channels = machine_->take_channels();
    control_virtio_ = std::move(channels.control_virtio);
    control_serial_ = std::move(channels.control_serial);
    log_ = std::make_unique<GuestLog>(std::move(channels.console), std::move(channels.log_virtio),
                                      std::move(channels.log_serial));
}

void Guest::talk_on(Fd channel)
{
    const int end_fd = machine_->end_fd();
    agent_.emplace(std::move(channel));
    agent_->end_with(end_fd);
    agent_->watch_crash(log_->crash_fd());
    agent_->forgive([end_fd] { return run_delay(end_fd); });
}

std::chrono::milliseconds Guest::waited_for_cpu() const
{
    return run_delay(machine_->end_fd());
}

Hello Guest::wait_for_boot(Deadline deadline)
{
    std::array<pollfd, 4> waited = {{{control_virtio_.get(), POLLIN, 0},
                                     {control_serial_.get(), POLLIN, 0},
                                     {machine_->end_fd(), POLLIN, 0},
                                     {interrupt_fd(), POLLIN, 0}}};
    poll(waited.data(), waited.size(), deadline.poll_timeout());
    if (waited[3].revents)
        throw_if_interrupted();
    if (waited[2].revents)
        explain_end();
    if (!waited[0].revents && !waited[1].revents)
        throw GuestLost(
            GuestEnd::hung,
            fmt::format("the guest did not finish booting in time; its console ends with: {}",
                        last_line(log_->console())));
    talk_on(waited[0].revents ? std::move(control_virtio_) : std::move(control_serial_));
    return with_agent([&](AgentClient &agent) { return agent.wait_hello(deadline); });
}

void Guest::resume_on(ChannelKind channel, Deadline deadline)
{
    talk_on(channel == ChannelKind::virtio ? std::move(control_virtio_)
                                           : std::move(control_serial_));
    with_agent([&](AgentClient &agent) { agent.ping(deadline); });
}

agent::JudgeReply Guest::judge(const agent::JudgeRequest &request, Deadline deadline)
{
    return *with_agent([&](AgentClient &agent) { return agent.judge(request, deadline); });
}

void Guest::take_file(const agent::JobFile &file, Deadline deadline)
{
    const auto reply = with_agent([&](AgentClient &agent) {
        return agent.write_whole_file(file.path, file.contents, file.mode, deadline);
    });
    if (!reply)
        fail(ErrorKind::guest, "a guest cannot take {}: {}", file.path, reply.message());
}

agent::Outcome<MountReply> Guest::mount(const MountRequest &request, Deadline deadline)
{
    return outcome(with_agent([&](AgentClient &agent) { return agent.mount(request, deadline); }));
}

agent::Outcome<UnmountReply> Guest::unmount(const std::string &target, Deadline deadline)
{
    return outcome(with_agent([&](AgentClient &agent) { return agent.unmount(target, deadline); }));
}

agent::Outcome<RunReply> Guest::run(const RunRequest &request, Deadline deadline)
{
    return outcome(with_agent([&](AgentClient &agent) { return agent.run(request, deadline); }));
}

agent::Outcome<std::string> Guest::read_file(const std::string &path, std::size_t limit,
                                             Deadline deadline)
{
    return outcome(with_agent(
        [&](AgentClient &agent) { return agent.read_whole_file(path, limit, deadline); }));
}

agent::Outcome<WriteFileReply> Guest::write_file(const std::string &path, std::string_view data,
                                                 Deadline deadline)
{
    constexpr std::uint32_t kMode = 0644;
    return outcome(with_agent(
        [&](AgentClient &agent) { return agent.write_whole_file(path, data, kMode, deadline); }));
}

Fd Guest::take_terminal()
{
    if (!control_serial_)
        fail(ErrorKind::guest,
             "this guest has no port for a terminal: its kernel has no virtio, so "
             "its agent uses the serial one; commands from a file work (fencepost "
             "... --shell <FILE)");
    return std::move(control_serial_);
}

void Guest::power_off(Deadline deadline)
{
    with_agent([&](AgentClient &agent) { agent.power_off(deadline); });
    if (!wait_readable(machine_->end_fd(), deadline))
        throw GuestLost(GuestEnd::hung, "the guest did not power off in time");
}

void Guest::explain(const AgentLost &lost)
{
    switch (lost.loss()) {
    case ChannelLoss::timed_out:
        // A panicked kernel with panic=0, say by the user's own kernel arguments, just stops.
        if (const std::string panic = log_->panic(); !panic.empty())
            throw GuestLost(GuestEnd::panicked, kernel_panicked(panic));
        throw GuestLost(GuestEnd::hung, lost.what(), lost.step());
    case ChannelLoss::crashed:
        throw GuestLost(GuestEnd::crashed, lost.what(), lost.step());
    case ChannelLoss::protocol:
        throw GuestLost(GuestEnd::agent_broken, lost.what());
    case ChannelLoss::server_lost:
        throw lost; // the guest is still there; the caller decides
    case ChannelLoss::closed:
        break;
    }
    if (!wait_readable(machine_->end_fd(), Deadline::after(kDyingTime)))
        throw GuestLost(GuestEnd::agent_broken, lost.what());
    explain_end();
}

void Guest::explain_end()
{
    const auto end = machine_->poll_end();
    log_->finish();
    if (const std::string panic = log_->panic(); !panic.empty())
        throw GuestLost(GuestEnd::panicked, kernel_panicked(panic));
    if (end == MachineEnd::powered_off)
        throw GuestLost(GuestEnd::powered_off, "the guest powered itself off");
    if (end == MachineEnd::reset)
        throw GuestLost(GuestEnd::rebooted, "the guest rebooted");
    throw GuestLost(GuestEnd::machine_died, fmt::format("QEMU died: {}", machine_->last_words()));
}

} // namespace fencepost::guest
