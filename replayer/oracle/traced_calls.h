// SPDX-License-Identifier: GPL-2.0-or-later
// System calls of a trace as operations of the workload.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "guest-images/agent/observed_calls.h"
#include "replayer/oracle/legal_trees.h"
#include "trace/reader.h"

namespace fencepost::oracle {

// Which processes of a trace are the workload's: what its first program starts. The process that
// sets the markers of a script makes system calls as well.
class TracedProcesses {
public:
    // Takes notice of a marker. Whether it is of the workload's processes.
    bool see(const trace::MarkerRow &row);

private:
    bool started_ =
        false; // what the agent's child does before it becomes the program is not its own
    std::set<std::uint64_t> processes_;
};

// A system call from its entry to its return. A recording that does not number its calls tells the
// processes apart alone.
using CallKey = std::pair<std::uint64_t, std::uint64_t>; // process, id of the call

inline CallKey call_key(const trace::MarkerRow &row)
{
    return {row.marker.process, trace::call_id(row.kind, row.marker)};
}

// "rename a -> b"; `paths`: those that the call names.
std::string call_text(const trace::Marker &call, const std::string &paths);

// The calls of the observed run are those of the trace, in the same order; NoLegalTrees if they
// are not. `marked`: commands of a script are in the trace too, and their ends are states of the
// history.
std::vector<TracedOperation> traced_calls(const trace::TraceReader &reader, const History &history,
                                          bool marked);

} // namespace fencepost::oracle
