// SPDX-License-Identifier: GPL-2.0-or-later
// See run_request.h. No pidfds: kernels under test may be older than they are.
#include "guest-images/agent/run_request.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/descendants.h"
#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

// How long killed processes may take to go before they count as hanging in the kernel.
constexpr std::uint64_t kClearingUsec = 2'000'000;

struct Pipe {
    Descriptor read_end;
    Descriptor write_end;

    bool open()
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return false;
        read_end = Descriptor(ends[0]);
        write_end = Descriptor(ends[1]);
        return true;
    }
};

void set_nonblocking(const Descriptor &fd)
{
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// One output stream: kept up to the limit, read beyond it so that the command can go on.
struct Capture {
    Pipe pipe;
    std::string *text = nullptr;
    bool *truncated = nullptr;

    // Bytes taken; 0 when there is nothing now, or nothing more (the pipe is then closed).
    std::size_t take()
    {
        char buffer[65536];
        const ssize_t got = read(pipe.read_end.get(), buffer, sizeof buffer);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            pipe.read_end.reset();
        if (got <= 0)
            return 0;
        const auto size = static_cast<std::size_t>(got);
        const std::size_t kept = std::min(size, kDataLimit - text->size());
        text->append(buffer, kept);
        *truncated = *truncated || kept < size;
        return size;
    }

    // What is in the pipe now. Bounded by its capacity, as a stray process may fill it for ever.
    void drain()
    {
        const int capacity = pipe.read_end ? fcntl(pipe.read_end.get(), F_GETPIPE_SZ) : 0;
        std::size_t left = capacity > 0 ? static_cast<std::size_t>(capacity) : 0;
        while (pipe.read_end && left > 0) {
            const std::size_t got = take();
            if (got == 0)
                break;
            left -= std::min(left, got);
        }
    }
};

// What a command that has ended left running.
enum class Leftovers { kept, killed };

class Run {
public:
    Run(const RunRequest &request, const std::function<int()> &body,
        Leftovers leftovers = Leftovers::kept)
        : request_(request), body_(body), leftovers_(leftovers)
    {
    }

    Outcome<RunReply> to_end();

private:
    bool open_descriptors();
    [[noreturn]] void become_command();
    void wait_for_something();
    void write_input();
    void read_start_error();
    void reap();
    void kill_all();
    std::uint64_t elapsed() const { return monotonic_usec() - start_; }
    std::uint64_t limit_usec() const { return std::uint64_t(request_.time_limit_ms) * 1000; }
    bool over_limit() const { return request_.time_limit_ms != 0 && elapsed() >= limit_usec(); }

    const RunRequest &request_;
    const std::function<int()> &body_; // instead of a program, if there is one
    const Leftovers leftovers_;
    RunReply reply_;
    pid_t pid_ = -1;
    std::optional<int> status_;
    // Left running by earlier commands: not ours to kill.
    std::vector<pid_t> earlier_;
    std::uint64_t start_ = monotonic_usec();
    std::size_t input_done_ = 0;
    int start_error_ = 0;
    Descriptor child_signals_;
    Pipe input_;
    Pipe start_pipe_; // carries an errno when the command could not be executed
    Capture output_;
    Capture errors_;
};

bool Run::open_descriptors()
{
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    child_signals_ = Descriptor(signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK));
    output_.text = &reply_.output;
    output_.truncated = &reply_.output_truncated;
    errors_.text = &reply_.errors;
    errors_.truncated = &reply_.errors_truncated;
    if (!child_signals_ || !output_.pipe.open() || !errors_.pipe.open() || !start_pipe_.open())
        return false;
    if (request_.input.empty()) {
        input_.read_end = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
        return static_cast<bool>(input_.read_end);
    }
    if (!input_.open())
        return false;
    set_nonblocking(input_.write_end);
    return true;
}

void Run::become_command()
{
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Whatever we or the kernel's first process ignore, a command starts as under a login shell.
    for (int number = 1; number < NSIG; ++number)
        signal(number, SIG_DFL);
    umask(022);
    // The server is spared by the OOM killer; its commands are not.
    if (const Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) {
        [[maybe_unused]] const ssize_t ignored = write(score.get(), "0", 1);
    }
    dup2(input_.read_end.get(), 0);
    dup2(output_.pipe.write_end.get(), 1);
    dup2(errors_.pipe.write_end.get(), 2);
    std::vector<std::string> environment = request_.environment;
    for (std::string &entry : environment)
        putenv(entry.data());
    if (body_) {
        if (chdir(request_.directory.empty() ? "/" : request_.directory.c_str()) == 0)
            _exit(body_());
        const int error_number = errno;
        [[maybe_unused]] const ssize_t ignored =
            write(start_pipe_.write_end.get(), &error_number, sizeof error_number);
        _exit(127);
    }
    std::vector<char *> arguments;
    for (const std::string &argument : request_.argv)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    if (chdir(request_.directory.empty() ? "/" : request_.directory.c_str()) == 0)
        execvp(arguments[0], arguments.data());
    const int error_number = errno;
    [[maybe_unused]] const ssize_t ignored =
        write(start_pipe_.write_end.get(), &error_number, sizeof error_number);
    _exit(127);
}

void Run::write_input()
{
    const ssize_t put = write(input_.write_end.get(), request_.input.data() + input_done_,
                              request_.input.size() - input_done_);
    if (put > 0)
        input_done_ += static_cast<std::size_t>(put);
    const bool refused = put < 0 && errno != EAGAIN && errno != EINTR;
    if (refused || input_done_ == request_.input.size())
        input_.write_end.reset();
}

void Run::read_start_error()
{
    const ssize_t got = read(start_pipe_.read_end.get(), &start_error_, sizeof start_error_);
    if (got != sizeof start_error_)
        start_error_ = 0;
    start_pipe_.read_end.reset();
}

// Takes in every child that has ended: adopted orphans are ours to reap too.
void Run::reap()
{
    signalfd_siginfo ignored;
    while (read(child_signals_.get(), &ignored, sizeof ignored) > 0)
        ;
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == pid_)
            status_ = status;
}

void Run::wait_for_something()
{
    pollfd waited[] = {
        {child_signals_.get(), POLLIN, 0},        {output_.pipe.read_end.get(), POLLIN, 0},
        {errors_.pipe.read_end.get(), POLLIN, 0}, {input_.write_end.get(), POLLOUT, 0},
        {start_pipe_.read_end.get(), POLLIN, 0},
    };
    int timeout = -1;
    if (request_.time_limit_ms != 0) {
        const std::uint64_t left = limit_usec() - std::min(elapsed(), limit_usec());
        timeout = static_cast<int>(std::min<std::uint64_t>((left + 999) / 1000, INT_MAX));
    }
    if (poll(waited, std::size(waited), timeout) <= 0)
        return;
    if (waited[1].revents)
        output_.take();
    if (waited[2].revents)
        errors_.take();
    if (waited[3].revents)
        write_input();
    if (waited[4].revents)
        read_start_error();
    if (waited[0].revents)
        reap();
}

// A killed parent's children become ours, so each pass sees the next generation until none is left.
void Run::kill_all()
{
    kill(-pid_, SIGKILL);
    const std::uint64_t give_up = monotonic_usec() + kClearingUsec;
    std::vector<pid_t> living;
    do {
        living = descendants_of(getpid(), earlier_);
        for (pid_t pid : living)
            kill(pid, SIGKILL);
        if (!living.empty())
            pause_usec(1000);
        reap();
    } while (!living.empty() && monotonic_usec() < give_up);
    reply_.survivors = static_cast<std::uint32_t>(living.size());
}

Outcome<RunReply> Run::to_end()
{
    const std::string what = "run " + (request_.argv.empty() ? "" : request_.argv[0]);
    if (request_.argv.empty() && !body_)
        return failure(what, EINVAL);
    if (!open_descriptors())
        return failure(what);
    // Listing /proc is slow in an emulated guest, and mostly there is nobody to find.
    while (waitpid(-1, nullptr, WNOHANG) > 0)
        ;
    if (waitpid(-1, nullptr, WNOHANG) == 0)
        earlier_ = descendants_of(getpid(), {});

    start_ = monotonic_usec();
    pid_ = fork();
    if (pid_ < 0)
        return failure(what);
    if (pid_ == 0)
        become_command();
    input_.read_end.reset();
    output_.pipe.write_end.reset();
    errors_.pipe.write_end.reset();
    start_pipe_.write_end.reset();
    set_nonblocking(output_.pipe.read_end);
    set_nonblocking(errors_.pipe.read_end);

    while (!status_ && !over_limit())
        wait_for_something();
    reply_.elapsed_usec = elapsed();
    if (start_pipe_.read_end && status_)
        read_start_error();
    if (start_error_ != 0)
        return failure(what, start_error_);
    if (!status_) {
        reply_.end = RunEnd::timed_out;
        kill_all();
    } else {
        reply_.end = WIFSIGNALED(*status_) ? RunEnd::signalled : RunEnd::exited;
        reply_.code = WIFSIGNALED(*status_) ? WTERMSIG(*status_) : WEXITSTATUS(*status_);
        // Orphans are our children: without any there is nobody to look for.
        if (leftovers_ == Leftovers::killed && waitpid(-1, nullptr, WNOHANG) >= 0)
            kill_all();
    }
    output_.drain();
    errors_.drain();
    return std::move(reply_);
}

} // namespace

Outcome<RunReply> run_command(const RunRequest &request)
{
    return Run(request, {}).to_end();
}

Outcome<RunReply> run_and_clear(const RunRequest &request)
{
    return Run(request, {}, Leftovers::killed).to_end();
}

Outcome<RunReply> run_in_child(const RunRequest &limits, const std::function<int()> &body)
{
    return Run(limits, body).to_end();
}

} // namespace fencepost::agent
