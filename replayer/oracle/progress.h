// SPDX-License-Identifier: GPL-2.0-or-later
// How far the workload was when power failed, for a recovery command that checks durability.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/traced_calls.h"
#include "replayer/run/inputs.h"
#include "trace/reader.h"

namespace fencepost::oracle {

struct ProgressStep {
    std::int64_t number = 0;
    std::string text;
};

struct Progress {
    std::optional<ProgressStep> returned = {};   // the last operation that has
    std::vector<ProgressStep> in_progress = {};  // in the order in which they began
    std::optional<ProgressStep> checkpoint = {}; // the last one passed
};

// The operations of a trace by their markers; of a trace without any, its system calls that can
// change a tree, numbered from 1.
class ProgressTable {
public:
    ProgressTable() = default;
    explicit ProgressTable(const trace::TraceReader &reader);

    // `crash_seq`: the first event that did not happen.
    const Progress &at(std::uint64_t crash_seq) const { return entry_at(crash_seq).progress; }
    // Equal numbers: equal progress.
    std::uint64_t number_at(std::uint64_t crash_seq) const
    {
        return static_cast<std::uint64_t>(&entry_at(crash_seq) - entries_.data());
    }

private:
    class OpenSteps;
    struct Entry {
        std::uint64_t seq = 0; // from the event after this one on
        Progress progress;
    };

    const Entry &entry_at(std::uint64_t crash_seq) const;
    void add_operations(const trace::TraceReader &reader);
    void add_calls(const trace::TraceReader &reader);
    void finish_step(std::uint64_t seq, OpenSteps &open, const CallKey &key);
    Progress &change(std::uint64_t seq);

    std::vector<Entry> entries_ = {{}};
};

// NAME=value. `progress`: nothing where the command does not ask for it.
std::vector<std::string> recovery_environment(const Progress *progress, bool crashed);

// Whether images at different points of the workload are to be told apart for the recovery command:
// what the spec says, or whether the command or a copied file has the name of one of the variables.
bool wants_progress(const run::Inputs &inputs);

} // namespace fencepost::oracle
