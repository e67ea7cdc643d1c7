// SPDX-License-Identifier: GPL-2.0-or-later
// See progress.h.
#include "replayer/oracle/progress.h"

#include <algorithm>

#include <fmt/core.h>

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

// What has begun and not ended, in the order in which it began.
class ProgressTable::OpenSteps {
public:
    std::vector<ProgressStep> begin(const CallKey &key, ProgressStep step)
    {
        open_.emplace_back(key, std::move(step));
        return steps();
    }

    std::optional<ProgressStep> end(const CallKey &key)
    {
        const auto begun = std::find_if(open_.begin(), open_.end(),
                                        [&](const auto &each) { return each.first == key; });
        if (begun == open_.end())
            return std::nullopt;
        ProgressStep step = std::move(begun->second);
        open_.erase(begun);
        return step;
    }

    std::vector<ProgressStep> steps() const
    {
        std::vector<ProgressStep> steps;
        for (const auto &[key, step] : open_)
            steps.push_back(step);
        return steps;
    }

private:
    std::vector<std::pair<CallKey, ProgressStep>> open_;
};

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
    OpenSteps open;
    reader.for_each_marker([&](const MarkerRow &row) {
        const ProgressStep step = {row.marker.number, row.marker.text};
        // Processes number their operations by themselves.
        const CallKey key = {row.marker.process, static_cast<std::uint64_t>(step.number)};
        if (row.kind == MarkerKind::op_begin)
            change(row.seq).in_progress = open.begin(key, step);
        else if (row.kind == MarkerKind::checkpoint)
            change(row.seq).checkpoint = step;
        else if (row.kind == MarkerKind::op_end)
            finish_step(row.seq, open, key);
    });
}

void ProgressTable::add_calls(const trace::TraceReader &reader)
{
    std::int64_t number = 0;
    OpenSteps open;
    TracedProcesses processes;
    reader.for_each_marker([&](const MarkerRow &row) {
        if (row.kind == MarkerKind::checkpoint)
            change(row.seq).checkpoint = ProgressStep{row.marker.number, row.marker.text};
        if (!processes.see(row) || !agent::find_observed_call(static_cast<long>(row.marker.number)))
            return;
        if (row.kind == MarkerKind::syscall_enter) {
            open.end(call_key(row)); // where calls have no ids: an earlier one that did not return
            change(row.seq).in_progress =
                open.begin(call_key(row), {++number, call_text(row.marker, row.marker.text)});
        } else if (row.kind == MarkerKind::syscall_exit) {
            finish_step(row.seq, open, call_key(row));
        }
    });
}

void ProgressTable::finish_step(std::uint64_t seq, OpenSteps &open, const CallKey &key)
{
    const std::optional<ProgressStep> step = open.end(key);
    if (!step)
        return;
    Progress &progress = change(seq);
    progress.returned = step;
    progress.in_progress = open.steps();
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
