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
    // The last one that had begun before power failed there; empty: none.
    const std::string &last_before(std::uint64_t crash_seq) const;

private:
    struct Change {
        std::uint64_t seq;
        std::string operation; // from there on
    };
    std::vector<Change>::const_iterator change_at(std::uint64_t seq) const;

    std::vector<Change> changes_; // the first at 0
};

} // namespace fencepost::test
