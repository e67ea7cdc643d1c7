// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_text.h.
#include "analyzer/report/finding_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyzer/report/evidence_words.h"
#include "analyzer/report/text.h"

namespace fencepost::report {

using findings::Finding;
using findings::Kind;
using findings::Place;
using Lines = std::vector<std::string>;

namespace {

constexpr std::size_t kMostColumn = 44;
constexpr std::size_t kMostText = 100;
constexpr std::size_t kMostCallers = 16;

void add(Lines &lines, std::string_view label, const std::string &text)
{
    if (!text.empty())
        lines.push_back(fmt::format("{:<13}{}", label, text));
}

std::string shortened(const std::string &text, std::size_t most)
{
    return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string role_words(const std::string &role)
{
    if (role == findings::kAbsent)
        return "The store that is lost";
    if (role == findings::kPresent)
        return "The store that persists";
    if (role == findings::kLast)
        return "The last store before power fails";
    return role == findings::kAt ? "Here" : role;
}

void add_head(Lines &lines, const ShownFinding &shown)
{
    const Finding &finding = shown.finding;
    lines.push_back(fmt::format("{} {} {}", finding.id, name_of(finding.severity),
                                finding.kind == Kind::rule
                                    ? "by rule " + finding.rule
                                    : finding.verdict + ", says oracle " + finding.oracle));
    lines.push_back(sentence_of(finding));
    lines.emplace_back();
    add(lines, "decides", finding.kind == Kind::rule ? "" : what_decides(finding));
    add(lines, "note", finding.note);
    add(lines, "fix", finding.fix);
    add(lines, finding.kind == Kind::crash_state ? "power fails" : "operation",
        shown.timeline && finding.kind == Kind::crash_state
            ? fmt::format("before event {}, epoch {}{}", shown.timeline->crash_seq,
                          shown.timeline->epoch,
                          shown.operation.empty()                 ? ""
                          : shown.operation.starts_with("after:") ? "; " + shown.operation
                                                                  : "; in: " + shown.operation)
            : shown.operation);
    if (finding.count != 0)
        add(lines, "seen",
            finding.kind == Kind::rule
                ? fmt::format("{} time{}", finding.count, finding.count == 1 ? "" : "s")
                : fmt::format("in {} image{}, one is of state {}", finding.count,
                              finding.count == 1 ? "" : "s", finding.state));
    for (const findings::Related &each : finding.related)
        add(lines, "related",
            fmt::format("{} {} says so too, at the same store: {}",
                        each.kind == Kind::rule ? "rule" : "oracle", each.by, each.id));
    if (!finding.part_of.empty())
        add(lines, "part of", finding.part_of + ": it does not count by itself");
    if (finding.known)
        add(lines, "known", "it is in the baseline");
}

void add_evidence(Lines &lines, const ShownFinding &shown)
{
    for (const findings::Evidence &evidence : shown.finding.evidence) {
        const EvidenceWords words = words_of(evidence);
        lines.emplace_back();
        lines.push_back(
            fmt::format("Oracle {}: {}: {}", evidence.oracle, evidence.verdict, evidence.title));
        if (!words.promise.empty())
            lines.push_back(fmt::format("  broken promise: {} (from: {})", words.promise,
                                        words.promise_source));
        for (const LegalTree &tree : words.against) {
            lines.push_back(fmt::format("  differs from what is legal {}", tree.as));
            for (const std::string &difference : tree.differences)
                lines.push_back("    " + difference);
        }
        for (const std::string &line : words.said)
            lines.push_back("  | " + line);
    }
}

std::string bytes_of(const TimelineRow &row)
{
    if (row.after.empty())
        return "";
    const char *more = row.size * 2 > row.after.size() ? "..." : "";
    return fmt::format("{} -> {}{}", bytes_text(row.before), bytes_text(row.after), more);
}

// Where no line of source is known, the instruction tells most.
std::string instruction_of(const TimelineRow &row)
{
    return row.code.ends_with(')') || row.instruction.empty() ? "" : row.instruction;
}

// `before`: what the row above belongs to, which is not said again.
Lines row_lines(const TimelineRow &row, const std::string &before)
{
    Lines lines;
    if (row.skipped != 0)
        lines.push_back(fmt::format("  {:>9}  {} more", "...", row.skipped));
    if (row.kind == trace::EventKind::marker) {
        lines.push_back(fmt::format("  {:>9}  -- {}", row.first_seq, marker_words(row)));
        return lines;
    }
    std::string what = row.what;
    if (row.events > 1)
        what += fmt::format(" x{}", row.events);
    if (row.size != 0)
        what += fmt::format(" {} B", row.size);
    std::string line = fmt::format("  {:>9}  {:<14} {:<18} {:<32} {}", row.first_seq, what,
                                   row.place, shortened(row.code, kMostColumn), words_of(row));
    while (line.ends_with(' '))
        line.pop_back();
    lines.push_back(line + (row.role.empty() ? "" : "  <- " + role_mark(row)));
    const std::string bytes = bytes_of(row);
    const std::string instruction = bytes.empty() ? "" : instruction_of(row);
    if (!bytes.empty())
        lines.push_back(fmt::format("  {:>9}    {}{}{}", "", bytes,
                                    instruction.empty() ? "" : "    ", instruction));
    if (!row.belongs_to.empty() && row.belongs_to != before)
        lines.push_back(fmt::format("  {:>9}    {}", "", row.belongs_to));
    return lines;
}

void add_timeline(Lines &lines, const ShownFinding &shown)
{
    lines.emplace_back();
    if (!shown.timeline) {
        if (!shown.no_timeline.empty())
            lines.push_back("No timeline: " + shown.no_timeline);
        return;
    }
    const Timeline &timeline = *shown.timeline;
    lines.emplace_back("Timeline, in program order");
    bool failed = !timeline.crashed;
    const auto power_fails = [&] {
        lines.push_back(
            fmt::format("  {:>9}  ==== power fails; {} ====", "", power_failure_words(timeline)));
        failed = true;
    };
    std::string belongs_to;
    for (const TimelineRow &row : timeline.rows) {
        if (!failed && row.first_seq >= timeline.crash_seq)
            power_fails();
        const Lines more = row_lines(row, belongs_to);
        lines.insert(lines.end(), more.begin(), more.end());
        if (!row.place.empty())
            belongs_to = row.belongs_to;
    }
    if (!failed)
        power_fails();
    if (!shown.not_annotated.empty())
        lines.push_back("What these places belong to is not known: " + shown.not_annotated);
}

void add_stacks(Lines &lines, const Finding &finding)
{
    for (const Place *place : places_with_stack(finding)) {
        const symbols::CodePlace &code = place->at.code;
        lines.emplace_back();
        lines.push_back(place_title(*place));
        lines.push_back(fmt::format("  {}{}{}", text_of(code),
                                    code.module.empty() ? "" : " [" + code.module + "]",
                                    code.instruction.empty() ? "" : ": " + code.instruction));
        const auto &callers = place->at.callers;
        for (std::size_t i = 0; i < std::min(callers.size(), kMostCallers); ++i)
            lines.push_back("    called by " + text_of(callers[i]));
        if (callers.size() > kMostCallers)
            lines.push_back(fmt::format("    and {} more", callers.size() - kMostCallers));
    }
}

} // namespace

std::string sentence_of(const Finding &finding)
{
    return finding.title.empty() ? finding.summary : finding.title;
}

std::string marker_words(const TimelineRow &row)
{
    const std::string text = row.code.empty() ? "" : ": " + shortened(row.code, kMostText);
    return row.what == "op_begin" ? "begins" + text
           : row.what == "op_end" ? "returned" + text
                                  : row.what + text;
}

std::string role_mark(const TimelineRow &row)
{
    if (row.role == findings::kAbsent || row.role == findings::kPresent)
        return "decides";
    return row.role == findings::kAt ? "here" : row.role;
}

std::string power_failure_words(const Timeline &timeline)
{
    return fmt::format("{} of {} stores in flight persist", timeline.persisted_stores,
                       timeline.in_flight_stores);
}

std::string place_title(const Place &place)
{
    return fmt::format("{}: event {}{}", role_words(place.role), place.at.event.seq,
                       place.operation.empty() ? ""
                                               : ", in: " + shortened(place.operation, kMostText));
}

std::vector<const Place *> places_with_stack(const Finding &finding)
{
    const bool decided =
        place_of(finding, findings::kAbsent) || place_of(finding, findings::kPresent);
    std::vector<const Place *> places;
    for (const Place &place : finding.places)
        if (!decided || place.role != findings::kLast)
            places.push_back(&place);
    return places;
}

Lines finding_lines(const ShownFinding &shown)
{
    Lines lines;
    add_head(lines, shown);
    add_evidence(lines, shown);
    add_timeline(lines, shown);
    add_stacks(lines, shown.finding);
    if (const Lines minimal = minimal_lines(shown.finding, shown.minimal); !minimal.empty()) {
        lines.emplace_back();
        lines.emplace_back("Minimized");
        for (const std::string &line : minimal)
            lines.push_back("  " + line);
    }
    lines.emplace_back();
    if (!shown.folder.empty())
        lines.push_back(
            fmt::format("Files        {}: {}", shown.folder, fmt::join(shown.files, " ")));
    for (const std::string &command : shown.next)
        add(lines, &command == shown.next.data() ? "Next" : "", command);
    return lines;
}

} // namespace fencepost::report
