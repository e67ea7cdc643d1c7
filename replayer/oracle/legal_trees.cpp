// SPDX-License-Identifier: GPL-2.0-or-later
// See legal_trees.h.
#include "replayer/oracle/legal_trees.h"

#include <algorithm>
#include <map>

#include "guest-images/agent/step_note.h"
#include "replayer/oracle/overlaps.h"
#include "replayer/oracle/traced_calls.h"
#include "replayer/run/workload_end.h"

namespace fencepost::oracle {

namespace {

bool is_parallel(const agent::JobStep &step)
{
    return std::any_of(step.ops.phases.begin(), step.ops.phases.end(),
                       [](const agent::OpsPhase &phase) { return phase.threads.size() > 1; });
}

// Ops and commands of scripts: the markers carry the number that the observations carry.
std::vector<TracedOperation> marked_operations(const trace::TraceReader &reader,
                                               const History &history)
{
    std::map<std::uint64_t, std::size_t> last_state;
    for (std::size_t i = 0; i < history.states.size(); ++i)
        if (history.states[i].operation != 0)
            last_state[history.states[i].operation] = i;
    std::vector<TracedOperation> operations;
    std::map<std::uint64_t, std::size_t> open;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == trace::MarkerKind::op_begin) {
            const auto state = last_state.find(row.marker.number);
            if (state == last_state.end())
                throw NoLegalTrees(fmt::format(
                    "operation {} ('{}') of the recording did not happen when the workload "
                    "was observed",
                    row.marker.number, row.marker.text));
            open[row.marker.number] = operations.size();
            operations.push_back({row.seq, UINT64_MAX, state->second, row.marker.text});
        } else if (row.kind == trace::MarkerKind::op_end) {
            const auto begun = open.find(row.marker.number);
            if (begun != open.end())
                operations[begun->second].last_seq = row.seq;
        }
    });
    return operations;
}

// A script's commands, or its system calls where the trace has them: the promise of a file system
// is about those. If they differ from run to run (processes that run at the same time), until a
// command has ended any state since its begin will do.
std::vector<TracedOperation>
script_operations(const trace::TraceReader &reader, const History &history, bool has_calls,
                  const std::function<void(const std::string &line)> &progress)
{
    std::string why = "its system calls were not recorded";
    if (has_calls) {
        try {
            return traced_calls(reader, history, true);
        } catch (const NoLegalTrees &none) {
            why = none.what();
        }
    }
    if (progress)
        progress(fmt::format("the script is judged by whole commands: {}", why));
    return marked_operations(reader, history);
}

// The note before the next step, or the end of the recording.
std::uint64_t workload_end(const trace::TraceReader &reader)
{
    std::uint64_t end = UINT64_MAX;
    bool begun = false;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        const bool note = row.kind == trace::MarkerKind::note;
        if (end == UINT64_MAX && begun &&
            (row.kind == trace::MarkerKind::record_off ||
             (note && row.marker.text == agent::kUnmountNote)))
            end = row.seq;
        begun = begun || (note && row.marker.text == agent::kWorkloadNote);
    });
    return end;
}

// What a program does after its last call that is looked at (stores to a map, a call that nobody
// knows) has no operation of its own, and is legal.
void add_end(const trace::TraceReader &reader, const History &history,
             std::vector<TracedOperation> &operations)
{
    TracedOperation end = {0, 0, history.states.size() - 1, "the end of the workload"};
    std::size_t last_state = 0;
    for (const TracedOperation &operation : operations) {
        if (operation.last_seq == UINT64_MAX)
            return;
        end.first_seq = std::max(end.first_seq, operation.last_seq);
        last_state = std::max(last_state, operation.last_state);
    }
    if (history.states[last_state].tree == history.states.back().tree)
        return;
    end.last_seq = workload_end(reader);
    operations.push_back(std::move(end));
}

} // namespace

LegalTrees::LegalTrees(History history, std::vector<TracedOperation> operations)
    : history_(std::move(history)), operations_(std::move(operations))
{
    history_.overlaps = find_overlaps(history_, operations_);
    // Which of the others a sync among them has covered, nobody knows.
    for (const Overlap &overlap : history_.overlaps)
        for (std::size_t i = overlap.first; i <= overlap.last; ++i)
            history_.states[i].durable = agent::Durable::nothing;
}

OperationSpan LegalTrees::span_at(std::uint64_t crash_seq) const
{
    OperationSpan span;
    for (const TracedOperation &operation : operations_) {
        if (operation.last_seq < crash_seq)
            span.returned = std::max(span.returned, operation.last_state);
        if (operation.first_seq < crash_seq)
            span.begun = std::max(span.begun, operation.last_state);
    }
    span.begun = std::max(span.begun, span.returned);
    for (const Overlap &overlap : history_.overlaps)
        if (overlap.first <= span.returned && span.returned < overlap.last)
            span.returned = overlap.first - 1;
    return span;
}

std::size_t LegalTrees::last_sync(std::size_t state) const
{
    while (state > 0 && history_.states[state].durable == agent::Durable::nothing)
        --state;
    return state;
}

std::string LegalTrees::operation_of(std::size_t state) const
{
    for (const TracedOperation &operation : operations_)
        if (operation.last_state >= state && state > 0)
            return operation.text;
    return {};
}

std::string why_no_legal_trees(const trace::TraceReader &reader, const run::Inputs &inputs)
{
    if (!inputs.mount)
        return "the workload has no file system";
    if (is_parallel(run::workload_of(inputs)))
        return "threads of the workload run at the same time, and in another order each time";
    // A guest that is gone has no report of what it saw.
    for (const run::WorkloadEnd end : {run::WorkloadEnd::panicked, run::WorkloadEnd::hung,
                                       run::WorkloadEnd::powered_off, run::WorkloadEnd::rebooted})
        if (reader.recording().outcome.starts_with(to_string(end)))
            return fmt::format(
                "the workload took the guest down ({}), so what it leaves cannot be observed",
                to_string(end));
    return {};
}

LegalTrees find_legal_trees(const trace::TraceReader &reader, const run::Inputs &inputs,
                            const run::Observations &observations,
                            const std::function<void(const std::string &line)> &progress)
{
    History history = make_history(observations.first);
    const History again = make_history(observations.second);
    if (const std::string why = mask_differences(history, again); !why.empty())
        throw NoLegalTrees(why);
    const agent::JobStep &workload = run::workload_of(inputs);
    std::vector<TracedOperation> operations =
        workload.kind == agent::StepKind::ops ? marked_operations(reader, history)
        : !workload.operations.empty()
            ? script_operations(reader, history, workload.system_calls, progress)
            : traced_calls(reader, history, false);
    add_end(reader, history, operations);
    return LegalTrees(std::move(history), std::move(operations));
}

} // namespace fencepost::oracle
