// SPDX-License-Identifier: GPL-2.0-or-later
// What was going on when an event happened: whose process, in which operation and system call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/event.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Operations and system calls by the seq of the marker that began them.
struct Activity {
    std::optional<std::uint64_t> operation = {};
    std::optional<std::uint64_t> call = {};
    std::int64_t call_number = 0;
};

// The process of an event is known by the code that caused it, or by its call stack: kernel code
// that a process's system call or fault led to is the process's. Kernel threads have none, nor has
// kernel code without a recorded stack.
//
// The operation is the innermost that the process has begun and not ended; where it has none (a
// shell's child, a kernel thread), the last one that any process has begun. The system call is the
// last that the process has entered and not left; a recording does not tell its threads apart.
class EventContext {
public:
    // Reads what it needs from the tables of the trace.
    EventContext(sqlite3 *database, const std::string &schema);

    std::optional<std::uint64_t> process(const Event &event) const;
    // Quick for ascending seqs.
    Activity activity(std::uint64_t seq, const Event &event) const;

private:
    // In order of seq: from here on this goes on.
    struct Change {
        std::uint64_t seq = 0;
        Activity activity = {};
    };
    struct Timeline {
        std::vector<Change> changes;
        mutable std::size_t recent = 0;

        const Activity *at(std::uint64_t seq) const;
    };
    struct Code {
        bool user = false;
        std::uint64_t address_space = 0;
    };

    void read_code(sqlite3 *database, const std::string &schema);
    void read_stacks(sqlite3 *database, const std::string &schema);
    void read_markers(sqlite3 *database, const std::string &schema);

    std::vector<Code> sites_; // by id
    std::vector<Code> roots_; // the outermost caller of a stack, by id
    std::map<std::uint64_t, Timeline> processes_;
    Timeline all_;
};

} // namespace fencepost::trace
