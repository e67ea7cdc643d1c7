// SPDX-License-Identifier: GPL-2.0-or-later
// What is written to PM between the workload's end and the moment in which the machine stands
// still. It is no part of the recording, but without it the recorded stores would not give PM as
// the host finds it.
#pragma once

#include <cstdint>
#include <map>

#include "trace/late_lines.h"

namespace fencepost::tracer {

class LateLines {
public:
    // A store to PM, in the order of memory.
    void put(std::uint64_t address, const void *bytes, unsigned size);
    const std::map<std::uint64_t, trace::LateLine> &lines() const { return lines_; }

private:
    std::map<std::uint64_t, trace::LateLine> lines_; // by line
};

} // namespace fencepost::tracer
