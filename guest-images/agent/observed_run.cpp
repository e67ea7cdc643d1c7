// SPDX-License-Identifier: GPL-2.0-or-later
// See observed_run.h.
#include "guest-images/agent/observed_run.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "guest-images/agent/observed_calls.h"
#include "guest-images/agent/script_marks.h"
#include "guest-images/agent/traced_process.h"

namespace fencepost::agent {

namespace {

// One traced thread.
struct Thread {
    bool in_call = false;
    user_regs_struct entry = {};
    std::uint32_t calls_before = 0; // ordinal of the last call when it entered its own
    pid_t process = 0;              // 0: not known yet
    std::uint32_t number = 0;       // 0: it has made no call yet that is looked at
};

bool is_mark_pipe(pid_t thread, long descriptor)
{
    char path[64];
    char target[64] = {};
    std::snprintf(path, sizeof path, "/proc/%d/fd/%ld", thread, descriptor);
    [[maybe_unused]] const ssize_t length = readlink(path, target, sizeof target - 1);
    return std::string_view(target) == kMarkPipe;
}

class Tracer {
public:
    explicit Tracer(Observer &observer) : observer_(observer) {}

    int run(const std::vector<std::string> &argv);

private:
    pid_t start(const std::vector<std::string> &argv);
    void stopped(pid_t thread, int status);
    void call_ended(pid_t thread, const user_regs_struct &entry, long result);
    // Of who calls; numbers them when it is their first one.
    CallSignature caller(pid_t thread);
    void note_arguments(pid_t thread, const ObservedCall &call, const user_regs_struct &entry,
                        CallSignature &signature) const;
    void note_mark(pid_t thread, const user_regs_struct &entry);
    void promise_write(pid_t thread, const user_regs_struct &entry, std::uint64_t size,
                       Observation &observation) const;
    void resume(pid_t thread, int signal) { ptrace(PTRACE_SYSCALL, thread, nullptr, signal); }

    Observer &observer_;
    std::map<pid_t, Thread> threads_;
    std::map<pid_t, std::uint32_t> processes_; // numbers of those that have made such a call
    std::uint32_t thread_count_ = 0;
    std::uint32_t process_count_ = 0;
    std::map<std::uint64_t, std::uint64_t> maps_; // address to inode, to know what msync is about
    std::uint32_t ordinal_ = 0;
    std::uint32_t operation_ = 0;
};

pid_t Tracer::start(const std::vector<std::string> &argv)
{
    const pid_t child = fork();
    if (child != 0)
        return child;
    std::vector<char *> arguments;
    for (const std::string &argument : argv)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    raise(SIGSTOP); // until it is traced
    execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
    _exit(127);
}

// "b NUMBER" and "e NUMBER STATUS", which marked scripts write to a pipe.
void Tracer::note_mark(pid_t thread, const user_regs_struct &entry)
{
    char text[64] = {};
    const iovec local = {text, sizeof text - 1};
    const iovec remote = {reinterpret_cast<void *>(entry.rsi),
                          std::min<std::size_t>(entry.rdx, sizeof text - 1)};
    if (process_vm_readv(thread, &local, 1, &remote, 1, 0) <= 0)
        return;
    unsigned long number = 0;
    long status = 0;
    Observation observation;
    if (std::sscanf(text, "b %lu", &number) == 1) {
        observation.moment = Moment::begin;
        operation_ = static_cast<std::uint32_t>(number);
    } else if (std::sscanf(text, "e %lu %ld", &number, &status) == 2) {
        observation.moment = Moment::end;
        observation.result = status;
        operation_ = 0;
    } else {
        return;
    }
    observation.operation = static_cast<std::uint32_t>(number);
    const bool looks = observation.moment == Moment::end;
    observer_.note(std::move(observation), looks);
}

void Tracer::promise_write(pid_t thread, const user_regs_struct &entry, std::uint64_t size,
                           Observation &observation) const
{
    const std::optional<DescriptorInfo> info = info_of(thread, static_cast<long>(entry.rdi));
    if (!info)
        return;
    unsigned flags = info->flags;
    const auto offset = static_cast<long long>(entry.r10);
    const bool second = observation.call == SYS_pwritev2;
    if (second) {
        flags |= entry.r9 & RWF_SYNC ? O_SYNC : 0;
        flags |= entry.r9 & RWF_DSYNC ? O_DSYNC : 0;
        flags |= entry.r9 & RWF_APPEND ? O_APPEND : 0;
    }
    const bool placed = observation.call == SYS_pwrite64 || observation.call == SYS_pwritev ||
                        (second && offset != -1);
    // Linux appends with O_APPEND whatever offset it is told.
    const long long end = flags & O_APPEND ? static_cast<long long>(size)
                          : placed         ? offset + observation.result
                                           : info->position;
    observer_.promise_write(observation, static_cast<int>(flags),
                            static_cast<std::uint64_t>(end - observation.result));
}

CallSignature Tracer::caller(pid_t id)
{
    Thread &thread = threads_[id];
    if (thread.process == 0)
        thread.process = process_of(id);
    if (thread.number == 0)
        thread.number = ++thread_count_;
    std::uint32_t &process = processes_[thread.process];
    if (process == 0)
        process = ++process_count_;
    return {.process = process, .thread = thread.number, .numbers = {}, .paths = {}};
}

void Tracer::note_arguments(pid_t thread, const ObservedCall &call, const user_regs_struct &entry,
                            CallSignature &signature) const
{
    for (const int index : call.numbers)
        signature.numbers.push_back(static_cast<std::uint32_t>(argument(entry, index)));
    for (const int index : call.paths)
        signature.paths +=
            (index == *call.paths.begin() ? "" : " -> ") + text_at(thread, argument(entry, index));
}

void Tracer::call_ended(pid_t thread, const user_regs_struct &entry, long result)
{
    const long number = static_cast<long>(entry.orig_rax);
    const ObservedCall *call = find_observed_call(number);
    if (!call)
        return;
    ++ordinal_;
    CallSignature signature = caller(thread);
    struct stat status = {};
    const bool has_file = call->file >= 0 && stat_of(thread, static_cast<long>(entry.rdi), status);
    if (number == SYS_write && has_file && S_ISFIFO(status.st_mode) &&
        is_mark_pipe(thread, static_cast<long>(entry.rdi)))
        return note_mark(thread, entry);
    if (call->file >= 0 && (!has_file || !observer_.concerns(status.st_dev)))
        return;
    constexpr unsigned long long kChanges = O_CREAT | O_TRUNC;
    if (result < 0 || (number == SYS_open && !(entry.rsi & kChanges)) ||
        (number == SYS_openat && !(entry.rdx & kChanges)))
        return;
    Observation observation;
    observation.moment = Moment::system_call;
    observation.operation = operation_;
    observation.call = static_cast<std::int32_t>(number);
    observation.call_ordinal = ordinal_;
    observation.calls_meanwhile = ordinal_ - 1 - threads_[thread].calls_before;
    note_arguments(thread, *call, entry, signature);
    observation.signature = std::move(signature);
    observation.result = result;
    observation.durable = call->durable;
    observation.inode = has_file ? status.st_ino : 0;
    observation.exchanged = number == SYS_renameat2 && (entry.r8 & RENAME_EXCHANGE);
    if (number == SYS_mmap) {
        const auto file = static_cast<long>(entry.r8);
        if (file < 0 || (entry.r10 & MAP_TYPE) == MAP_PRIVATE)
            return;
        if (!stat_of(thread, file, status) || !observer_.concerns(status.st_dev))
            return;
        // Whatever its protection: mprotect can let it be written to later.
        const std::optional<DescriptorInfo> info = info_of(thread, file);
        if (info && (info->flags & O_ACCMODE) == O_RDONLY)
            return;
        maps_[static_cast<std::uint64_t>(result)] = status.st_ino;
        observation.mapped = true;
        observation.inode = status.st_ino;
    } else if (number == SYS_msync) {
        const auto map = maps_.upper_bound(entry.rdi);
        if (map == maps_.begin() || !(entry.rdx & MS_SYNC) || entry.rsi == 0)
            return;
        // Which part of the file it was does not matter: a mapped file's bytes are not judged.
        observation.inode = std::prev(map)->second;
    } else if (call->write) {
        promise_write(thread, entry, static_cast<std::uint64_t>(status.st_size), observation);
    }
    observer_.note(std::move(observation));
}

void Tracer::stopped(pid_t id, int status)
{
    Thread &thread = threads_[id];
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
        user_regs_struct registers;
        if (ptrace(PTRACE_GETREGS, id, nullptr, &registers) == 0) {
            if (thread.in_call) {
                call_ended(id, thread.entry, static_cast<long>(registers.rax));
            } else {
                thread.entry = registers;
                thread.calls_before = ordinal_;
            }
            thread.in_call = !thread.in_call;
        }
        resume(id, 0);
    } else if (status >> 16 != 0) {
        // PTRACE_EVENT stops: exec, fork, or the stop that attaching makes.
        if (status >> 16 == PTRACE_EVENT_EXEC)
            processes_.erase(process_of(id));
        resume(id, 0);
    } else {
        resume(id, signal);
    }
}

int Tracer::run(const std::vector<std::string> &argv)
{
    Observation begin;
    observer_.note(std::move(begin));
    const pid_t first = start(argv);
    int status = 0;
    if (first < 0 || waitpid(first, &status, WUNTRACED) < 0)
        return 126;
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                              PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, first, nullptr, kOptions) < 0) {
        kill(first, SIGKILL);
        std::fprintf(stderr, "cannot trace the workload: %s\n", std::strerror(errno));
        return 126;
    }
    kill(first, SIGCONT);
    int result = 126;
    for (pid_t id; (id = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFSTOPPED(status)) {
            stopped(id, status);
            continue;
        }
        threads_.erase(id);
        processes_.erase(id); // of a process that is gone; its number may come again
        if (id == first) {
            result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            break; // as an unobserved command ends with its first process
        }
    }
    Observation end;
    end.moment = Moment::end;
    end.result = result;
    observer_.note(std::move(end));
    return result;
}

} // namespace

int run_observed(const std::vector<std::string> &argv, Observer &observer)
{
    return Tracer(observer).run(argv);
}

} // namespace fencepost::agent
