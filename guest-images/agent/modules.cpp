// SPDX-License-Identifier: GPL-2.0-or-later
// See modules.h.
#include "guest-images/agent/modules.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>

#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/kernel_log.h"

namespace fencepost::agent {

namespace {

// 0, or an errno.
int load_module(const std::string &line)
{
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string parameters = line.substr(std::min(space + 1, line.size()));
    const Descriptor module(open(line.substr(0, space).c_str(), O_RDONLY | O_CLOEXEC));
    if (!module)
        return errno;
    if (syscall(SYS_finit_module, module.get(), parameters.c_str(), 0) == 0 || errno == EEXIST)
        return 0;
    return errno;
}

} // namespace

std::vector<ModuleFailure> load_modules(const std::string &list_path)
{
    std::vector<ModuleFailure> failures;
    const std::string list = read_line(list_path);
    for (std::size_t start = 0; start < list.size();) {
        const std::size_t end = std::min(list.find('\n', start), list.size());
        const std::string line = list.substr(start, end - start);
        start = end + 1;
        if (line.empty() || line[0] == '#')
            continue;
        if (const int error_number = load_module(line); error_number != 0) {
            failures.push_back({line, error_number});
            note_in_kernel_log("cannot load " + line + ": " + std::strerror(error_number));
        }
    }
    return failures;
}

} // namespace fencepost::agent
