// SPDX-License-Identifier: GPL-2.0-or-later
// See legal_states.h.
#include "replayer/oracle/legal_states.h"

#include <algorithm>
#include <map>

#include "base/files.h"
#include "guest-images/image/image_store.h"
#include "replayer/oracle/traced_calls.h"
#include "trace/reader.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kBlockLimit = 4096; // bytes of blocks that one observation sends: 16 MiB

const agent::JobStep &workload_of(const record::RecordInputs &inputs)
{
    if (inputs.workload_step >= inputs.workload.steps.size())
        fail(ErrorKind::trace, "the run's workload is missing from its job");
    return inputs.workload.steps[inputs.workload_step];
}

std::string mount_point_of(const record::RecordInputs &inputs)
{
    for (const agent::JobStep &step : inputs.workload.steps)
        if (step.kind == agent::StepKind::mount)
            return step.mount.target;
    throw NoLegalStates("the workload has no file system");
}

// One observed run, kept in the run directory with the digest of the trace that it belongs to.
std::vector<agent::Observation>
observe(const record::RunFiles &run, const record::RecordInputs &inputs, const fs::path &cache,
        const std::string &name, const std::string &digest, std::uint32_t variation,
        const std::function<void(const std::string &line)> &progress)
{
    const std::string file = fmt::format("{}.{}", name, variation);
    const Folder folder = run.folder();
    const std::string below = run.legal_states().filename();
    // What another kernel or agent left is not what this one must leave.
    const std::string image = images::ImageStore(cache).open(inputs.config.image).digest;
    const std::string head = fmt::format("{} {} {}\n", digest, agent::kObservationsVersion, image);
    agent::JobReport report;
    if (const std::optional<Folder> earlier = folder.below(below);
        earlier && earlier->kind_of(file) != Folder::Kind::nothing) {
        const std::string kept = earlier->read(file, record::kMostJob);
        if (kept.starts_with(head) &&
            agent::decode_job(std::string_view(kept).substr(head.size()), report))
            return std::move(report.observations);
    }
    if (progress)
        progress("finding the legal states of the workload");
    record::Recorder recorder(cache, {}, {progress, {}});
    agent::ObservationPlan plan;
    plan.root = mount_point_of(inputs);
    plan.limits.blocks = kBlockLimit;
    plan.variation = variation;
    agent::JobReport whole = recorder.observe(inputs, plan);
    report.observations = std::move(whole.observations);
    folder.made_below(below).write(file, head + agent::encode_job(report));
    return std::move(report.observations);
}

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
                throw NoLegalStates(fmt::format(
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
        } catch (const NoLegalStates &none) {
            why = none.what();
        }
    }
    if (progress)
        progress(fmt::format("the script is judged by whole commands: {}", why));
    return marked_operations(reader, history);
}

} // namespace

Window LegalStates::window(std::uint64_t crash_seq) const
{
    Window window;
    for (const TracedOperation &operation : operations_) {
        if (operation.last_seq < crash_seq)
            window.returned = std::max(window.returned, operation.last_state);
        if (operation.first_seq < crash_seq)
            window.begun = std::max(window.begun, operation.last_state);
    }
    window.begun = std::max(window.begun, window.returned);
    return window;
}

std::size_t LegalStates::last_sync(std::size_t state) const
{
    while (state > 0 && history_.states[state].durable == agent::Durable::nothing)
        --state;
    return state;
}

std::string LegalStates::operation_of(std::size_t state) const
{
    for (const TracedOperation &operation : operations_)
        if (operation.last_state >= state && state > 0)
            return operation.text;
    return {};
}

LegalStates find_legal_states(const record::RunFiles &run, const record::RecordInputs &inputs,
                              const fs::path &cache,
                              const std::function<void(const std::string &line)> &progress,
                              const std::string &variant)
{
    const agent::JobStep &workload = workload_of(inputs);
    if (is_parallel(workload))
        throw NoLegalStates(
            "threads of the workload run at the same time, and in another order each time");
    const trace::TraceReader reader(run.trace());
    // A guest that is gone has no report of what it saw.
    const std::string &outcome = reader.recording().outcome;
    for (const record::WorkloadEnd end :
         {record::WorkloadEnd::panicked, record::WorkloadEnd::hung,
          record::WorkloadEnd::powered_off, record::WorkloadEnd::rebooted})
        if (outcome.starts_with(to_string(end)))
            throw NoLegalStates(fmt::format(
                "the workload took the guest down ({}), so what it leaves cannot be observed",
                to_string(end)));
    const std::string &digest = reader.recording().event_digest;
    const std::string name = variant.empty() ? "own" : variant;
    History history = make_history(observe(run, inputs, cache, name, digest, 0, progress));
    const History again = make_history(observe(run, inputs, cache, name, digest, 1, progress));
    if (const std::string why = mask_differences(history, again); !why.empty())
        throw NoLegalStates(why);
    std::vector<TracedOperation> operations =
        workload.kind == agent::StepKind::ops ? marked_operations(reader, history)
        : !workload.operations.empty()
            ? script_operations(reader, history, workload.system_calls, progress)
            : traced_calls(reader, history, false);
    return LegalStates(std::move(history), std::move(operations));
}

} // namespace fencepost::oracle
