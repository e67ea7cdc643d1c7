// SPDX-License-Identifier: GPL-2.0-or-later
// See workload_finding.h.
#include "replayer/test/workload_finding.h"

#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/json.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/run/workload_end.h"
#include "replayer/test/finding_files.h"

namespace fencepost::test {

using run::WorkloadEnd;

namespace {

std::string text_of(const run::RunFiles &run, const std::filesystem::path &path)
{
    const Folder folder = run.folder();
    std::string text;
    if (folder.kind_of(path.filename()) != Folder::Kind::nothing)
        text = folder.read(path.filename(), run::kMostText) + "\n";
    std::erase(text, '\r');
    return text;
}

std::string log_of(const run::RunFiles &run)
{
    return text_of(run, run.kernel_log()) + text_of(run, run.console());
}

} // namespace

std::string kernel_lines(const std::string &kernel_log, const std::string &console)
{
    std::set<std::string_view> of_processes;
    for (std::string_view rest = kernel_log; !rest.empty();) {
        const guest::LogRecord record = guest::take_record(rest);
        if (record.priority && *record.priority >= 8)
            of_processes.insert(record.text);
    }
    std::string lines = kernel_log;
    for (std::string_view rest = console; !rest.empty();) {
        const std::string_view text = guest::take_record(rest).text;
        if (!of_processes.contains(text))
            lines += std::string(text) + "\n";
    }
    return lines;
}

std::optional<Finding> workload_finding(const run::RunFiles &run, const trace::Recording &recording)
{
    const auto ended = [&](WorkloadEnd end) {
        return recording.outcome.starts_with(to_string(end));
    };
    const std::optional<oracle::LogAlarm> alarm = oracle::find_alarm(
        kernel_lines(text_of(run, run.kernel_log()), text_of(run, run.console())));
    const bool crashed = alarm && alarm->alarm == oracle::Alarm::crash;
    if (!crashed && !ended(WorkloadEnd::panicked) && !ended(WorkloadEnd::hung))
        return std::nullopt;
    const bool hung = !crashed && ended(WorkloadEnd::hung);
    Finding finding;
    finding.kind = findings::Kind::workload;
    finding.oracle = kWorkloadOracle;
    finding.verdict = to_string(hung ? oracle::Verdict::guest_hang : oracle::Verdict::guest_crash);
    const std::string words = alarm ? alarm->summary : oracle::without_numbers(recording.outcome);
    finding.summary = hung ? fmt::format("the workload hangs the guest{}{}", alarm ? ": " : "",
                                         alarm ? alarm->summary : "")
                           : fmt::format("the workload crashes the guest's kernel: {}", words);
    finding.title = finding.summary;
    finding.id =
        Digest().add(finding.oracle).add(finding.verdict).add(finding.summary).hex().substr(0, 12);
    return finding;
}

void write_workload_finding(const run::RunFiles &run, const Finding &finding)
{
    CHECK(run::is_finding_id(finding.id), "a finding's id names a folder");
    const Folder folder = run.folder().made_below("findings").made_below(finding.id);
    folder.write("console.log", log_of(run));
    write_summary(folder, finding);
}

} // namespace fencepost::test
