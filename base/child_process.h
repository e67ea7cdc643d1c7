// SPDX-License-Identifier: GPL-2.0-or-later
// Child processes: started without a shell, killed with their owner, waited for under a deadline.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/deadline.h"
#include "base/fd.h"

namespace fencepost {

struct SpawnOptions {
    // Given to the child as the descriptor numbers on the left; everything else is closed.
    std::map<int, int> fds = {};
    std::map<std::string, std::string> environment = {}; // added to ours
    std::filesystem::path directory = {};
};

struct ProcessEnd {
    bool by_signal = false;
    int code = 0; // exit status, or signal number

    bool success() const { return !by_signal && code == 0; }
    std::string describe() const;
};

// A running child in a process group of its own (a Ctrl-C is ours to handle). The kernel kills it
// when the thread that started it ends, so start children on threads that outlive them.
class ChildProcess {
public:
    ChildProcess(const std::vector<std::string> &argv, const SpawnOptions &options);
    ChildProcess(ChildProcess &&other) noexcept;
    ChildProcess &operator=(ChildProcess &&) = delete;
    ~ChildProcess(); // kills and reaps

    pid_t pid() const { return pid_; }
    // Readable when the child has ended.
    int end_fd() const { return pidfd_.get(); }
    void kill();
    std::optional<ProcessEnd> poll_end();
    std::optional<ProcessEnd> wait(Deadline deadline);

private:
    pid_t pid_ = -1;
    Fd pidfd_;
    std::optional<ProcessEnd> end_;
};

// The last non-empty line of a text; empty if there is none.
std::string last_line(const std::string &text);

struct CommandResult {
    bool timed_out = false;
    ProcessEnd end;
    std::string output; // stdout
    std::string errors; // stderr

    bool success() const { return !timed_out && end.success(); }
    // The last non-empty line the command wrote to stderr, or else to stdout.
    std::string last_words() const;
};

struct CommandOptions {
    Deadline deadline = Deadline::never();
    std::size_t output_limit = 64 << 20;
    std::map<std::string, std::string> environment = {};
    std::filesystem::path directory = {};
};

// Runs a command to its end with an empty stdin and collects what it wrote.
CommandResult run_command(const std::vector<std::string> &argv, const CommandOptions &options = {});

// Full path of a program on PATH (and the sbin directories, which a user's PATH may lack).
std::optional<std::filesystem::path> find_program(const std::string &name);

} // namespace fencepost
