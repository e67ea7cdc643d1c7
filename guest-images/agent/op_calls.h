// SPDX-License-Identifier: GPL-2.0-or-later
// An operation as the system call that it is, on the files and maps that the operations before it
// left open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guest-images/agent/observation.h"
#include "guest-images/agent/ops.h"

namespace fencepost::agent {

struct OpMap {
    char *start = nullptr;
    std::uint64_t length = 0;
    int file = -1; // a descriptor of its own, if it is to have one
    std::uint64_t file_offset = 0;

    bool contains(std::uint64_t offset, std::uint64_t size) const
    {
        return start && offset <= length && size <= length - offset;
    }
};

// What msync syncs: whole pages, of the map.
TreeRange synced_pages(const Op &op);

class OpCalls {
public:
    OpCalls(const OpsProgram &program, bool maps_keep_files);

    // Ends like a system call: -1 and errno.
    long execute(const Op &op);

    int file(std::uint16_t slot) const { return files_[slot]; }
    const OpMap &map(std::uint16_t slot) const { return maps_[slot]; }

private:
    long execute_on_map(const Op &op, OpMap &map);
    long execute_on_paths(const Op &op);
    long execute_on_file(const Op &op, int &file);

    bool maps_keep_files_;
    std::vector<int> files_;
    std::vector<OpMap> maps_;
};

} // namespace fencepost::agent
