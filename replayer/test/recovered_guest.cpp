// SPDX-License-Identifier: GPL-2.0-or-later
// See recovered_guest.h.
#include "replayer/test/recovered_guest.h"

#include "base/error.h"
#include "replayer/guest/guest.h"

namespace fencepost::test {

using guest::AgentClient;
using guest::AgentLost;

namespace {

constexpr std::chrono::minutes kFileTime(1);

// Without a limit: somebody may be in a debugger.
template <typename Ask> auto asked(guest::Guest &guest, Ask &&ask)
{
    return guest.with_agent([&](AgentClient &agent) { return ask(agent, Deadline::never()); });
}

bool mount(guest::Guest &guest, const agent::MountRequest &request,
           const std::function<void(const std::string &line)> &say)
{
    const auto reply = asked(guest, [&](AgentClient &agent, Deadline deadline) {
        return agent.mount(request, deadline);
    });
    say(reply ? fmt::format("mounted {} on {}", request.source, request.target) : reply.message());
    return static_cast<bool>(reply);
}

void run_command(guest::Guest &guest, agent::RunRequest request,
                 const std::function<void(const std::string &line)> &say)
{
    request.time_limit_ms = 0;
    const auto reply = asked(
        guest, [&](AgentClient &agent, Deadline deadline) { return agent.run(request, deadline); });
    if (!reply) {
        say(reply.message());
        return;
    }
    say("recovery command: " + describe_end(*reply));
    for (const std::string &text : {reply->output, reply->errors})
        if (!text.empty())
            say(text.substr(0, text.find_last_not_of('\n') + 1));
}

} // namespace

std::string describe_end(const agent::RunReply &reply)
{
    switch (reply.end) {
    case agent::RunEnd::exited:
        return fmt::format("exit status {}", reply.code);
    case agent::RunEnd::signalled:
        return fmt::format("killed by signal {}", reply.code);
    case agent::RunEnd::timed_out:
        break;
    }
    return "stopped at its time limit";
}

std::string recover(guest::Guest &guest, const oracle::GuestWork &work,
                    const std::function<void(const std::string &line)> &say)
{
    for (const agent::JobFile &file : work.files)
        guest.take_file(file, Deadline::after(kFileTime));
    const agent::JudgeRequest &request = work.requests.front();
    try {
        if (!request.mount.fstype.empty() && !mount(guest, request.mount, say))
            return "/";
        if (!request.command.argv.empty())
            run_command(guest, request.command, say);
    } catch (const AgentLost &lost) {
        const auto crash = guest.wait_for_crash(std::chrono::seconds(1));
        say(crash ? crash->line : lost.what());
        return "/";
    }
    return request.mount.fstype.empty() ? "/" : request.mount.target;
}

RecoveredGuest recovered_guest(JudgedState &state, Moment moment,
                               const std::function<void(const std::string &line)> &say)
{
    const oracle::GuestWork work = state.work();
    RecoveredGuest made = {state.restore()};
    if (moment == Moment::after_recovery) {
        made.directory = recover(*made.guest, work, say);
        return made;
    }
    for (const agent::JobFile &file : work.files)
        made.guest->take_file(file, Deadline::after(kFileTime));
    return made;
}

} // namespace fencepost::test
