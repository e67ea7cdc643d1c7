// SPDX-License-Identifier: GPL-2.0-or-later
// See child_process.h. Between fork and exec only async-signal-safe calls are made, because the
// parent may have threads.
#include "base/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost {

namespace {

std::vector<std::string> merged_environment(const std::map<std::string, std::string> &added)
{
    std::vector<std::string> all;
    for (char **entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const std::string name(text.substr(0, text.find('=')));
        if (!added.contains(name))
            all.emplace_back(text);
    }
    for (const auto &[name, value] : added)
        all.push_back(name + "=" + value);
    return all;
}

std::vector<char *> pointers(std::vector<std::string> &texts)
{
    std::vector<char *> result;
    for (std::string &text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// Runs in the child. Moves every wanted descriptor out of the way first, so that no dup2 below
// lands on one that is still to be copied.
[[noreturn]] void become(const std::vector<std::pair<int, int>> &fds, const char *directory,
                         char *const *argv, char *const *envp, pid_t parent, int error_pipe)
{
    constexpr int kParked = 512;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool ready = getppid() == parent;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        signal(signal_number, SIG_DFL);
    int parked[64];
    for (std::size_t i = 0; i < fds.size() && ready; ++i)
        ready = (parked[i] = fcntl(fds[i].second, F_DUPFD_CLOEXEC, kParked)) >= 0;
    const int report = fcntl(error_pipe, F_DUPFD_CLOEXEC, kParked);
    // Our own descriptors are close-on-exec, but those that our parent left us may not be.
    syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
    for (std::size_t i = 0; i < fds.size() && ready; ++i)
        ready = dup2(parked[i], fds[i].first) >= 0;
    if (ready && directory)
        ready = chdir(directory) == 0;
    if (ready)
        execvpe(argv[0], argv, envp);
    const int error_number = errno;
    [[maybe_unused]] const ssize_t ignored = write(report, &error_number, sizeof error_number);
    _exit(127);
}

} // namespace

std::string ProcessEnd::describe() const
{
    return by_signal ? fmt::format("killed by signal {} ({})", code, strsignal(code))
                     : fmt::format("exit status {}", code);
}

ChildProcess::ChildProcess(const std::vector<std::string> &argv, const SpawnOptions &options)
{
    CHECK(!argv.empty(), "a command without a program");
    std::vector<std::string> arguments = argv;
    std::vector<std::string> environment = merged_environment(options.environment);
    const std::vector<char *> argument_pointers = pointers(arguments);
    const std::vector<char *> environment_pointers = pointers(environment);
    std::vector<std::pair<int, int>> fds(options.fds.begin(), options.fds.end());
    CHECK(fds.size() <= 60, "too many descriptors for a child");
    Fd null;
    for (int standard : {0, 1, 2}) {
        if (options.fds.contains(standard))
            continue;
        if (!null)
            null = open_file("/dev/null", O_RDWR);
        fds.emplace_back(standard, null.get());
    }
    const std::string directory = options.directory.string();
    auto [error_read, error_write] = make_pipe();

    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0)
        fail_errno(fmt::format("cannot start {}", argv[0]));
    if (pid_ == 0)
        become(fds, directory.empty() ? nullptr : directory.c_str(), argument_pointers.data(),
               environment_pointers.data(), parent, error_write.get());
    error_write.reset();
    pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));

    int error_number = 0;
    ssize_t got;
    do
        got = read(error_read.get(), &error_number, sizeof error_number);
    while (got < 0 && errno == EINTR);
    if (got == sizeof error_number) {
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
        fail_errno(fmt::format("cannot start {}", argv[0]), error_number);
    }
}

ChildProcess::ChildProcess(ChildProcess &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), end_(other.end_)
{
}

ChildProcess::~ChildProcess()
{
    if (pid_ < 0 || end_)
        return;
    kill();
    waitpid(pid_, nullptr, 0);
}

void ChildProcess::kill()
{
    if (pid_ > 0 && !end_)
        ::kill(pid_, SIGKILL);
}

std::optional<ProcessEnd> ChildProcess::poll_end()
{
    if (end_)
        return end_;
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_)
        end_ = WIFSIGNALED(status) ? ProcessEnd{true, WTERMSIG(status)}
                                   : ProcessEnd{false, WEXITSTATUS(status)};
    return end_;
}

std::optional<ProcessEnd> ChildProcess::wait(Deadline deadline)
{
    while (!poll_end() && !deadline.passed()) {
        std::array<pollfd, 2> waited = {{{end_fd(), POLLIN, 0}, {interrupt_fd(), POLLIN, 0}}};
        poll(waited.data(), waited.size(), deadline.poll_timeout());
        if (waited[1].revents)
            throw_if_interrupted();
    }
    return end_;
}

std::string last_line(const std::string &text)
{
    const auto last = text.find_last_not_of(" \t\r\n");
    if (last == std::string::npos)
        return "";
    const auto newline = text.find_last_of('\n', last);
    const auto first = newline == std::string::npos ? 0 : newline + 1;
    return text.substr(first, last - first + 1);
}

std::string CommandResult::last_words() const
{
    for (const std::string *text : {&errors, &output})
        if (const std::string line = last_line(*text); !line.empty())
            return line;
    return timed_out ? "no answer in time" : end.describe();
}

CommandResult run_command(const std::vector<std::string> &argv, const CommandOptions &options)
{
    auto [output_read, output_write] = make_pipe();
    auto [errors_read, errors_write] = make_pipe();
    ChildProcess child(argv, {.fds = {{1, output_write.get()}, {2, errors_write.get()}},
                              .environment = options.environment,
                              .directory = options.directory});
    output_write.reset();
    errors_write.reset();

    CommandResult result;
    std::array<std::pair<Fd *, std::string *>, 2> streams = {
        {{&output_read, &result.output}, {&errors_read, &result.errors}}};
    while (output_read || errors_read) {
        std::array<pollfd, 3> waited = {{{output_read.get(), POLLIN, 0},
                                         {errors_read.get(), POLLIN, 0},
                                         {interrupt_fd(), POLLIN, 0}}};
        poll(waited.data(), waited.size(), options.deadline.poll_timeout());
        if (waited[2].revents)
            throw_if_interrupted();
        if (options.deadline.passed()) {
            result.timed_out = true;
            child.kill();
            break;
        }
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (!waited[i].revents)
                continue;
            char buffer[65536];
            const ssize_t got = read(streams[i].first->get(), buffer, sizeof buffer);
            if (got <= 0)
                streams[i].first->reset();
            else if (streams[i].second->size() + static_cast<std::size_t>(got) <=
                     options.output_limit)
                streams[i].second->append(buffer, static_cast<std::size_t>(got));
            else
                fail(ErrorKind::io, "{} wrote more than {} bytes", argv[0], options.output_limit);
        }
    }
    if (const auto end = child.wait(options.deadline)) {
        result.end = *end;
    } else {
        result.timed_out = true;
    }
    return result;
}

std::optional<std::filesystem::path> find_program(const std::string &name)
{
    const char *path = std::getenv("PATH");
    std::string directories = path ? path : "";
    directories += ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
    for (std::size_t start = 0; start <= directories.size();) {
        const std::size_t end = std::min(directories.find(':', start), directories.size());
        const auto candidate = std::filesystem::path(directories.substr(start, end - start)) / name;
        if (end > start && access(candidate.c_str(), X_OK) == 0)
            return candidate;
        start = end + 1;
    }
    return std::nullopt;
}

} // namespace fencepost
