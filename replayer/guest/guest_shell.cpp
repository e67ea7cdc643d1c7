// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_shell.h. The agent runs the shell, on a serial port that is joined to our terminal: the
// guest needs no network, and gets none.
#include "replayer/guest/guest_shell.h"

#include <array>
#include <cstdlib>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/raw_terminal.h"

namespace fencepost::guest {

namespace {

constexpr std::chrono::seconds kQuitTime(5);
constexpr std::chrono::milliseconds kLastWordsTime(200);
constexpr const char *kPort = "/dev/ttyS1";

// A terminal of its own: the shell's Ctrl-C ends what runs in it.
std::string shell_command()
{
    winsize size = {};
    std::string words = "stty sane";
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0)
        words += fmt::format(" rows {} cols {}", size.ws_row, size.ws_col);
    // As a child: a leader of processes would be left behind by setsid, not become the shell.
    return fmt::format("exec <{0} >{0} 2>&1; {1}; setsid -c sh -i; true", kPort, words);
}

agent::RunRequest run_request(const ShellRequest &request, std::vector<std::string> argv)
{
    agent::RunRequest run;
    run.argv = std::move(argv);
    run.environment = request.environment;
    run.directory = request.directory;
    return run;
}

// The agent's answer, awaited by a thread while another one carries bytes.
class AwaitedShell {
public:
    AwaitedShell(Guest &guest, const agent::RunRequest &request)
        : done_(eventfd(0, EFD_CLOEXEC)),
          thread_([this, &guest, request] { await(guest, request); })
    {
    }
    ~AwaitedShell() { thread_.join(); }

    AwaitedShell(const AwaitedShell &) = delete;
    AwaitedShell &operator=(const AwaitedShell &) = delete;

    int done_fd() const { return done_.get(); }
    // Empty: the shell ended.
    const std::optional<AgentLost> &lost() const { return lost_; }
    const std::string &failure() const { return failure_; }

private:
    void await(Guest &guest, const agent::RunRequest &request)
    {
        guest.with_agent([&](AgentClient &agent) {
            try {
                const auto reply = agent.run(request, Deadline::never());
                failure_ = reply.message();
            } catch (const AgentLost &lost) {
                lost_ = lost; // the other thread may be using the machine
            } catch (const Error &) {
                // Interrupted, as the other thread is.
            }
            return 0;
        });
        constexpr std::uint64_t kOne = 1;
        [[maybe_unused]] const ssize_t told = write(done_.get(), &kOne, sizeof kOne);
    }

    Fd done_;
    std::optional<AgentLost> lost_;
    std::string failure_;
    std::thread thread_; // last: it uses the others
};

// False: nothing more will come.
bool carry(int from, int to)
{
    char buffer[4096];
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got <= 0)
        return false;
    for (ssize_t at = 0; at < got;) {
        const ssize_t put = write(to, buffer + at, static_cast<std::size_t>(got - at));
        if (put <= 0)
            return false;
        at += put;
    }
    return true;
}

// What was typed; false: the key to leave was among it, or the terminal is gone.
bool carry_keys(int port)
{
    char buffer[4096];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0)
        return false;
    const std::string_view keys(buffer, static_cast<std::size_t>(got));
    const std::string_view typed = keys.substr(0, keys.find(kLeaveKey));
    [[maybe_unused]] const ssize_t put = write(port, typed.data(), typed.size());
    return typed.size() == keys.size();
}

// True: the shell has ended; false: it was left.
bool join_terminal(int port, int done)
{
    for (;;) {
        std::array<pollfd, 4> waited = {{{port, POLLIN, 0},
                                         {STDIN_FILENO, POLLIN, 0},
                                         {done, POLLIN, 0},
                                         {interrupt_fd(), POLLIN, 0}}};
        poll(waited.data(), waited.size(), -1);
        if (waited[3].revents)
            throw_if_interrupted();
        if (waited[0].revents && !carry(port, STDOUT_FILENO))
            port = -1;
        if (waited[2].revents)
            return true;
        if (waited[1].revents && !carry_keys(port))
            return false;
    }
}

// What the shell wrote last may still be on its way.
void carry_rest(int port)
{
    pollfd waited = {port, POLLIN, 0};
    while (poll(&waited, 1, static_cast<int>(kLastWordsTime.count())) > 0)
        if (!carry(port, STDOUT_FILENO))
            return;
}

// Ends the machine, so that nobody waits for the agent any more.
void end_machine(Guest &guest)
{
    try {
        guest.machine().tell("quit", Deadline::after(kQuitTime));
    } catch (const Error &) {
        // It has ended.
    }
}

} // namespace

void open_shell(Guest &guest, const ShellRequest &request)
{
    const Fd port = guest.take_terminal();
    AwaitedShell shell(guest, run_request(request, {"sh", "-c", shell_command()}));
    {
        const RawTerminal raw(STDIN_FILENO);
        try {
            if (join_terminal(port.get(), shell.done_fd()))
                carry_rest(port.get());
            else
                return end_machine(guest);
        } catch (...) {
            end_machine(guest);
            throw;
        }
    }
    if (!shell.failure().empty())
        fail(ErrorKind::guest, "the guest could not start a shell: {}", shell.failure());
    if (const auto lost = shell.lost())
        guest.with_agent([&](AgentClient &) { throw AgentLost(*lost); });
}

agent::RunReply run_in_shell(Guest &guest, const ShellRequest &request, const std::string &commands)
{
    agent::RunRequest run = run_request(request, {"sh"});
    run.input = commands;
    const auto reply =
        guest.with_agent([&](AgentClient &agent) { return agent.run(run, Deadline::never()); });
    if (!reply)
        fail(ErrorKind::guest, "the guest could not run the commands: {}", reply.message());
    return *reply;
}

} // namespace fencepost::guest
