// SPDX-License-Identifier: GPL-2.0-or-later
// What a workload left after each of its operations, seen in a guest that is not recorded: the
// states that a recovered tree is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "guest-images/agent/tree.h"

namespace fencepost::agent {

// Of what observations say and how they are written: those of another version are not read.
inline constexpr int kObservationsVersion = 6;
inline constexpr std::size_t kObservationsLimit = 24 << 20; // bytes; what fits into the mailbox

enum class Moment : std::uint8_t {
    start,       // before the first operation
    begin,       // a command of a script begins; the tree is the last one
    system_call, // after a system call that may have changed the tree
    end,         // after an operation; with operation 0, after the workload
    overflow,    // what came from here on is missing: it did not fit
};

// What an operation promises to survive a crash.
enum class Durable : std::uint8_t {
    nothing,
    file_data, // of one file: its bytes and its size
    file,      // of one file or directory: all of it
    all,       // everything
};

// What tells a system call from others of its number. Processes and threads are numbered from 1, in
// the order of their first calls that are looked at; a process that starts a program is another
// one.
struct CallSignature {
    std::uint32_t process = 0; // 0: not told
    std::uint32_t thread = 0;
    std::vector<std::uint32_t> numbers; // as ObservedCall says, the low half of each
    std::string paths;                  // "OLD -> NEW" of two

    bool operator==(const CallSignature &) const = default;
};

struct Observation {
    Moment moment = Moment::start;
    std::uint32_t operation = 0;    // as in the trace's operation markers; 0: not within one
    std::int32_t call = -1;         // number of the system call; -1: none
    std::uint32_t call_ordinal = 0; // from 1, of the calls that are looked at
    // How many calls that are looked at have returned while this one was in progress. Their trees
    // may have some of it.
    std::uint32_t calls_meanwhile = 0;
    CallSignature signature;
    std::int64_t result = 0; // of operation or call; negative: errno
    Durable durable = Durable::nothing;
    std::uint64_t inode = 0; // what is durable, or was mapped
    TreeRange range;         // of a file: whose bytes are durable; a length of 0: all of it
    // The inode was mapped for writing, so that its bytes can change without a call; of an
    // operation that is no call: they changed now.
    bool mapped = false;
    // Two names were exchanged, which is a change of their directories and not of what they name.
    bool exchanged = false;
    bool same_tree = true; // as in the observation before
    TreeDump tree;

    bool operator==(const Observation &) const = default;
};

struct ObservationPlan {
    std::string root; // mount point; empty: nothing is observed
    TreeLimits limits;
    // Other runs of the same workload have another one: time of day, random numbers and process ids
    // then differ, and with them whatever depends on them.
    std::uint32_t variation = 0;

    bool operator==(const ObservationPlan &) const = default;
};

} // namespace fencepost::agent
