// SPDX-License-Identifier: GPL-2.0-or-later
// See shown_findings.h.
#include "replayer/report/shown_findings.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyzer/findings/relate.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "replayer/run/inputs.h"
#include "replayer/states/crash_state.h"
#include "replayer/test/minimal_finding.h"

namespace fencepost::collect {

using findings::Finding;
using findings::Kind;
using report::ShownFinding;

namespace {

constexpr std::uint64_t kMostFile = std::uint64_t{8} << 20;
constexpr std::size_t kMostLog = std::size_t{16} << 10; // of a kernel log, its end

// The end of a text, from the start of a line.
std::string end_of(const std::string &text, std::size_t most)
{
    if (text.size() <= most)
        return text;
    const std::size_t line = text.find('\n', text.size() - most);
    return line == std::string::npos ? text.substr(text.size() - most) : text.substr(line + 1);
}

// What is missing or not as fencepost writes it is not shown.
std::string text_in(const Folder &folder, const std::string &name)
{
    if (folder.kind_of(name) != Folder::Kind::file)
        return "";
    try {
        return folder.read(name, kMostFile);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        return "";
    }
}

std::vector<std::string> commands_for(const Finding &finding, const std::string &run,
                                      bool minimized)
{
    const std::string name = shell_word(run);
    std::vector<std::string> commands;
    if (finding.kind == Kind::crash_state) {
        commands.push_back(fmt::format("fencepost reproduce {} {}", name, finding.id));
        if (!minimized)
            commands.push_back(fmt::format("fencepost minimize {} {}", name, finding.id));
        commands.push_back(fmt::format("fencepost tree {} {}", name, finding.state));
    }
    if (finding.kind == Kind::rule && finding.crash_seq)
        commands.push_back(
            fmt::format("fencepost test {} --window seq:{}-{} --strategy exhaustive:1000", name,
                        *finding.crash_seq, *finding.crash_seq));
    commands.push_back(fmt::format("fencepost report {}", name));
    return commands;
}

} // namespace

OpenedRun::OpenedRun(run::RunFiles files, std::string shown)
    : files_(std::move(files)), shown_(std::move(shown)), reader_(files_.trace()), names_(reader_),
      incidental_(run::load_incidental(files_))
{
}

std::vector<Finding> all_findings(std::vector<Finding> by_rules, std::vector<Finding> by_states)
{
    for (std::vector<Finding> *findings : {&by_rules, &by_states})
        for (Finding &finding : *findings)
            finding.related.clear(), finding.part_of.clear(); // from before
    findings::relate(by_rules, by_states);
    std::vector<Finding> all = std::move(by_states);
    std::move(by_rules.begin(), by_rules.end(), std::back_inserter(all));
    std::stable_sort(all.begin(), all.end(),
                     [](const Finding &a, const Finding &b) { return a.severity < b.severity; });
    return all;
}

FindingShower::FindingShower(const OpenedRun &run)
    : run_(run), timelines_(run.reader(), run.names(), run.incidental()),
      noter_(run.files(), run.reader()), progress_(run.reader())
{
}

std::string FindingShower::operation_at(std::uint64_t crash_seq) const
{
    const oracle::Progress &progress = progress_.at(crash_seq);
    std::string text;
    for (const oracle::ProgressStep &step : progress.in_progress)
        text += (text.empty() ? "" : ", ") + step.text;
    if (text.empty() && progress.returned)
        text = "after: " + progress.returned->text;
    return text;
}

void FindingShower::add_files(ShownFinding &shown) const
{
    const std::optional<Folder> all = run_.files().folder().below("findings");
    const std::optional<Folder> folder = all ? all->below(shown.finding.id) : std::nullopt;
    if (!folder)
        return;
    shown.folder = (run_.files().findings() / shown.finding.id).string();
    for (const std::string &name : folder->names())
        if (run::is_finding_file(name) && folder->kind_of(name) == Folder::Kind::file)
            shown.files.push_back(name);
    shown.kernel_log = end_of(text_in(*folder, "console.log"), kMostLog);
    shown.minimal = text_in(*folder, "minimal.json");
}

ShownFinding FindingShower::show(const Finding &finding) const
{
    ShownFinding shown = {.finding = finding};
    shown.next = commands_for(finding, run_.shown(), test::is_minimized(run_.files(), finding));
    if (finding.kind == Kind::rule) {
        for (const findings::Place &place : finding.places)
            if (!place.operation.empty())
                shown.operation = place.operation;
        if (shown.operation.empty() && finding.has_event)
            shown.operation = operation_at(finding.first_seq + 1);
        return shown;
    }
    if (!finding.state.empty())
        shown.operation = operation_at(states::parse_crash_state(finding.state).seq);
    add_files(shown);
    return shown;
}

void FindingShower::add_timeline(ShownFinding &shown)
{
    const Finding &finding = shown.finding;
    try {
        if (finding.kind == Kind::crash_state)
            shown.timeline = timelines_.of_state(finding);
        else if (finding.kind == Kind::rule && finding.has_event)
            shown.timeline = timelines_.of_rule(finding);
        else
            shown.no_timeline = finding.kind == Kind::workload ? "power did not fail"
                                                               : "no event of it is in the trace";
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        shown.no_timeline = error.what();
    }
    if (shown.timeline)
        annotate(shown);
}

void FindingShower::annotate(ShownFinding &shown)
{
    std::vector<report::TimelineRow *> rows;
    std::vector<std::uint64_t> addresses;
    for (report::TimelineRow &row : shown.timeline->rows)
        if (!row.place.empty()) {
            rows.push_back(&row);
            addresses.push_back(row.address);
        }
    const annotate::PlaceNotes notes =
        noter_.ask_for(shown.finding.kind == Kind::rule ? "" : shown.finding.id,
                       timelines_.initial(), shown.timeline->crash_seq, std::move(addresses));
    for (report::TimelineRow *row : rows)
        if (const auto found = notes.places.find(row->address); found != notes.places.end())
            row->belongs_to = found->second;
    shown.not_annotated = notes.missing;
}

} // namespace fencepost::collect
