// SPDX-License-Identifier: GPL-2.0-or-later
// See standalone.h.
#include "guest-images/agent/standalone.h"

#include <cstring>

#include <fcntl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/job.h"
#include "guest-images/agent/judge_request.h"
#include "guest-images/agent/server.h"

namespace fencepost::agent {

namespace {

constexpr const char *kConsole = "/dev/ttyS0";
constexpr std::size_t kShownNames = 200;

// Each line is out before the next thing is done: the kernel's own lines do not end up in it.
class Console {
public:
    Console() : port_(open(kConsole, O_WRONLY | O_NOCTTY | O_CLOEXEC)) {}

    void say(const std::string &text)
    {
        const std::string line = kStandaloneMark + text + "\n";
        for (std::string_view rest = line; !rest.empty();) {
            const ssize_t put = write(port_.get(), rest.data(), rest.size());
            if (put <= 0)
                return;
            rest.remove_prefix(static_cast<std::size_t>(put));
        }
        tcdrain(port_.get());
    }

    void say_lines(const std::string &what, std::string_view text)
    {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            say(what + std::string(text.substr(0, end)));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

private:
    Descriptor port_;
};

std::string file_of(const std::string &name)
{
    return std::string("/") + kStandaloneFiles + "/" + name;
}

// Nothing: there is no such file.
std::optional<std::string> contents_of(const std::string &name)
{
    std::string all;
    for (;;) {
        const auto outcome = read_file({file_of(name), all.size(), kDataLimit});
        const auto *piece = std::get_if<ReadFileReply>(&outcome);
        if (!piece)
            return std::nullopt;
        all += piece->data;
        if (piece->at_end)
            return all;
    }
}

void tell(Console &console, const JudgeRequest &request, const JudgeReply &reply)
{
    // "priority,sequence,usec,flags;text"
    std::string_view log = reply.kernel_log;
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        console.say("log: " + std::string(line.substr(std::min(line.find(';') + 1, line.size()))));
        log.remove_prefix(std::min(line.size() + 1, log.size()));
    }
    for (const StepResult &step : reply.steps)
        if (step.error_number != 0)
            console.say(step.message);
    if (request.dump) {
        for (std::size_t i = 0; i < reply.tree.entries.size() && i < kShownNames; ++i)
            console.say("name: " + reply.tree.entries[i].path + " " +
                        std::to_string(reply.tree.entries[i].size));
        console.say(tree_line(reply.tree));
    }
    if (!request.command.argv.empty()) {
        console.say_lines("output: ", reply.command.output);
        console.say_lines("errors: ", reply.command.errors);
        console.say(command_line(reply.command));
    }
    for (const UsableProblem &problem : reply.problems)
        console.say(problem.operation + ": " + problem.path + ": " +
                    (problem.error_number == 0 ? "what came back is not what went in"
                                               : std::strerror(problem.error_number)));
    if (reply.removed)
        console.say(space_line(reply.used_after));
}

bool write_files(Console &console)
{
    Job job;
    const std::optional<std::string> text = contents_of(kStandaloneJob);
    if (!text || !decode_job(*text, job)) {
        console.say("no work in " + file_of(kStandaloneJob));
        return false;
    }
    for (const JobFile &file : job.files) {
        const auto outcome = write_file({file.path, file.mode, 0, true, file.contents});
        if (const auto *failed = std::get_if<Failure>(&outcome)) {
            console.say(failed->message);
            return false;
        }
    }
    return true;
}

void work(Console &console)
{
    if (!write_files(console))
        return;
    std::optional<KernelLogTail> log;
    TellStep begun = [&](JudgeStep step) { console.say(step_line(step)); };
    for (unsigned number = 0;; ++number) {
        const std::optional<std::string> payload =
            contents_of(kStandaloneRequest + std::to_string(number));
        JudgeRequest request;
        if (!payload || !decode_payload(*payload, request))
            return;
        const auto outcome = judge_image(request, log, begun);
        if (const auto *reply = std::get_if<JudgeReply>(&outcome))
            tell(console, request, *reply);
    }
}

} // namespace

void run_standalone_guest(const Hello &hello)
{
    Console console;
    console.say("Linux " + hello.kernel_release + ", " + std::to_string(hello.pm_devices.size()) +
                " PM devices");
    const pid_t worker = fork();
    if (worker == 0) {
        prepare_to_serve();
        work(console);
        _exit(0);
    }
    int status = 0;
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    // An oops kills the process whose system call it is in.
    if (WIFSIGNALED(status))
        console.say("the kernel killed the process that looked at the image, by signal " +
                    std::to_string(WTERMSIG(status)));
    console.say(kStandaloneEnd);
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

} // namespace fencepost::agent
