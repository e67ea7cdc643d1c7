// SPDX-License-Identifier: GPL-2.0-or-later
// What the workload was doing at an event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace fencepost::test {

// All operations of a trace, read once.
class Operations {
public:
    explicit Operations(const trace::TraceReader &reader);

    // Empty where no operation was going on. Of several at the same time, the last that began.
    const std::string &at(std::uint64_t seq) const;

private:
    struct Change {
        std::uint64_t seq;
        std::string operation; // from there on
    };
    std::vector<Change> changes_;
};

} // namespace fencepost::test
