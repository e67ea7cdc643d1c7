// SPDX-License-Identifier: GPL-2.0-or-later
// See progress.h.
#include "replayer/oracle/progress.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "replayer/oracle/traced_calls.h"

namespace fencepost::oracle {

using trace::MarkerKind;
using trace::MarkerRow;

namespace {

constexpr const char *kReturned = "FENCEPOST_RETURNED";
constexpr const char *kInProgress = "FENCEPOST_IN_PROGRESS";
constexpr const char *kCheckpoint = "FENCEPOST_CHECKPOINT";
constexpr const char *kCrashed = "FENCEPOST_CRASHED";

void add_step(std::vector<std::string> &environment, const std::string &name,
              const std::vector<ProgressStep> &steps)
{
    std::string numbers;
    std::string texts;
    for (const ProgressStep &step : steps) {
        numbers += fmt::format("{}{}", numbers.empty() ? "" : " ", step.number);
        texts += (&step == steps.data() ? "" : "\n") + step.text;
    }
    environment.push_back(name + "=" + numbers);
    environment.push_back(name + "_TEXT=" + texts);
}

std::vector<ProgressStep> list_of(const std::optional<ProgressStep> &step)
{
    return step ? std::vector{*step} : std::vector<ProgressStep>();
}

bool mentions(const std::string &text)
{
    for (const char *name : {kReturned, kInProgress, kCheckpoint})
        if (text.find(name) != std::string::npos)
            return true;
    return false;
}

} // namespace

ProgressTable::ProgressTable(const trace::TraceReader &reader)
{
    bool has_operations = false;
    reader.for_each_marker([&](const MarkerRow &row) {
        has_operations = has_operations || row.kind == MarkerKind::op_begin;
    });
    if (has_operations)
        add_operations(reader);
    else
        add_calls(reader);
}

Progress &ProgressTable::change(std::uint64_t seq)
{
    Entry next = entries_.back();
    next.seq = seq;
    return entries_.emplace_back(std::move(next)).progress;
}

void ProgressTable::add_operations(const trace::TraceReader &reader)
{
    reader.for_each_marker([&](const MarkerRow &row) {
        const ProgressStep step = {row.marker.number, row.marker.text};
        if (row.kind == MarkerKind::op_begin) {
            change(row.seq).in_progress.push_back(step);
        } else if (row.kind == MarkerKind::checkpoint) {
            change(row.seq).checkpoint = step;
        } else if (row.kind == MarkerKind::op_end) {
            std::vector<ProgressStep> &open = change(row.seq).in_progress;
            const auto begun =
                std::find_if(open.begin(), open.end(),
                             [&](const ProgressStep &each) { return each.number == step.number; });
            if (begun == open.end())
                return;
            entries_.back().progress.returned = *begun;
            open.erase(begun);
        }
    });
}

void ProgressTable::add_calls(const trace::TraceReader &reader)
{
    std::int64_t number = 0;
    std::map<std::uint64_t, ProgressStep> entered; // by process
    TracedProcesses processes;
    const auto show = [&](Progress &progress) {
        progress.in_progress.clear();
        for (const auto &[process, step] : entered)
            progress.in_progress.push_back(step);
    };
    reader.for_each_marker([&](const MarkerRow &row) {
        if (row.kind == MarkerKind::checkpoint)
            change(row.seq).checkpoint = ProgressStep{row.marker.number, row.marker.text};
        if (!processes.see(row) || !agent::find_observed_call(static_cast<long>(row.marker.number)))
            return;
        if (row.kind == MarkerKind::syscall_enter) {
            entered[row.marker.process] = {++number, call_text(row.marker, row.marker.text)};
            show(change(row.seq));
        } else if (row.kind == MarkerKind::syscall_exit) {
            const auto begun = entered.find(row.marker.process);
            if (begun == entered.end())
                return;
            Progress &progress = change(row.seq);
            progress.returned = begun->second;
            entered.erase(begun);
            show(progress);
        }
    });
}

const ProgressTable::Entry &ProgressTable::entry_at(std::uint64_t crash_seq) const
{
    // The last whose marker did happen.
    const auto after =
        std::partition_point(entries_.begin() + 1, entries_.end(),
                             [&](const Entry &entry) { return entry.seq < crash_seq; });
    return *(after - 1);
}

std::vector<std::string> recovery_environment(const Progress *progress, bool crashed)
{
    std::vector<std::string> environment = {fmt::format("{}={}", kCrashed, crashed ? 1 : 0)};
    if (progress) {
        add_step(environment, kReturned, list_of(progress->returned));
        add_step(environment, kInProgress, progress->in_progress);
        add_step(environment, kCheckpoint, list_of(progress->checkpoint));
    }
    return environment;
}

bool wants_progress(const run::Inputs &inputs)
{
    if (inputs.test.recovery.empty())
        return false;
    if (inputs.test.recovery_progress)
        return *inputs.test.recovery_progress;
    return std::any_of(inputs.test.recovery.begin(), inputs.test.recovery.end(), mentions) ||
           std::any_of(inputs.workload.files.begin(), inputs.workload.files.end(),
                       [](const agent::JobFile &file) { return mentions(file.contents); });
}

} // namespace fencepost::oracle
