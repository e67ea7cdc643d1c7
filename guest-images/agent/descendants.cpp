// SPDX-License-Identifier: GPL-2.0-or-later
// See descendants.h.
#include "guest-images/agent/descendants.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "guest-images/agent/directory.h"
#include "guest-images/agent/file_requests.h"

namespace fencepost::agent {

std::vector<ProcessEntry> list_processes()
{
    std::vector<ProcessEntry> processes;
    for (const std::string &name : directory_names("/proc")) {
        if (name.find_first_not_of("0123456789") != std::string::npos)
            continue;
        // "pid (name) state parent …"; the name may hold anything, parentheses too.
        const std::string stat = read_line("/proc/" + name + "/stat");
        const std::size_t after_name = stat.rfind(')');
        char state = 0;
        int parent = 0;
        if (after_name == std::string::npos ||
            std::sscanf(stat.c_str() + after_name + 1, " %c %d", &state, &parent) != 2)
            continue;
        if (state != 'Z' && state != 'X')
            processes.push_back({std::atoi(name.c_str()), parent});
    }
    return processes;
}

std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t> &except)
{
    const std::vector<ProcessEntry> processes = list_processes();
    std::vector<pid_t> found;
    std::vector<pid_t> unvisited = {ancestor};
    while (!unvisited.empty()) {
        const pid_t parent = unvisited.back();
        unvisited.pop_back();
        for (const ProcessEntry &process : processes) {
            if (process.parent != parent ||
                std::find(except.begin(), except.end(), process.pid) != except.end())
                continue;
            found.push_back(process.pid);
            unvisited.push_back(process.pid);
        }
    }
    return found;
}

} // namespace fencepost::agent
