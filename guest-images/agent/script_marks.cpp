// SPDX-License-Identifier: GPL-2.0-or-later
// See script_marks.h.
#include "guest-images/agent/script_marks.h"

#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/file_requests.h"
#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::agent {

namespace {

void set_marker(const std::string &line, const std::vector<std::string> &operations)
{
    unsigned long number = 0;
    long status = 0;
    if (std::sscanf(line.c_str(), "b %lu", &number) == 1) {
        const bool known = number >= 1 && number <= operations.size();
        fencepost_op_begin(number, known ? operations[number - 1].c_str() : "");
    } else if (std::sscanf(line.c_str(), "e %lu %ld", &number, &status) == 2) {
        fencepost_op_end(number, status);
    }
}

[[noreturn]] void serve_marks(int requests, int answers, const std::vector<std::string> &operations)
{
    std::string line;
    for (;;) {
        char c = 0;
        if (read(requests, &c, 1) != 1)
            continue;
        if (c != '\n') {
            line += c;
            continue;
        }
        set_marker(line, operations);
        line.clear();
        [[maybe_unused]] const ssize_t ignored = write(answers, "\n", 1);
    }
}

} // namespace

int start_script_marks(const std::vector<std::string> &operations)
{
    make_directories("/run/fencepost");
    for (const char *path : {kMarkPipe, kMarkedPipe}) {
        unlink(path);
        if (mkfifo(path, 0666) < 0)
            return -1;
    }
    // Both ways each: a pipe that always has its other end never says that it is over.
    const Descriptor requests(open(kMarkPipe, O_RDWR | O_CLOEXEC));
    const Descriptor answers(open(kMarkedPipe, O_RDWR | O_CLOEXEC));
    if (!requests || !answers)
        return -1;
    const pid_t pid = fork();
    if (pid == 0)
        serve_marks(requests.get(), answers.get(), operations);
    return pid;
}

} // namespace fencepost::agent
