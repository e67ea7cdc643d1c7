// SPDX-License-Identifier: GPL-2.0-or-later
// See text.h.
#include "analyzer/report/text.h"

#include <map>
#include <span>

#include <fmt/format.h>

#include "analyzer/findings/site_name.h"
#include "analyzer/symbols/readable_name.h"

namespace fencepost::report {

using findings::Decides;
using findings::Finding;
using findings::Kind;
using findings::Place;
using symbols::CodePlace;

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMostNames = 3;
constexpr std::size_t kMostSymptoms = 3;

std::string plural(std::uint64_t count, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string callers(const Place &place)
{
    std::string text;
    for (const CodePlace &caller : place.at.callers)
        text += (text.empty() ? "" : " < ") + text_of(caller);
    return text;
}

std::string occurrences(const Finding &finding)
{
    if (!finding.has_event)
        return fmt::format("{}, not recorded as events", plural(finding.count, "time", "times"));
    if (finding.count == 1)
        return fmt::format("event {}", finding.first_seq);
    return fmt::format("{}, events {} to {}", plural(finding.count, "time", "times"),
                       finding.first_seq, finding.last_seq);
}

std::string line_list(const Finding &finding)
{
    std::string text;
    for (const std::uint64_t line : finding.lines)
        text += fmt::format("{}0x{:x}", text.empty() ? "" : " ", line);
    return text + (finding.more_lines ? " and more" : "");
}

void add(Lines &lines, std::string_view label, const std::string &text)
{
    if (!text.empty())
        lines.push_back(fmt::format("    {:<8}{}", label, text));
}

void add_place(Lines &lines, const Place &place)
{
    const CodePlace &code = place.at.code;
    if (place.role == findings::kAt)
        add(lines, "at", text_of(code) + (code.instruction.empty() ? "" : ": " + code.instruction));
    else
        add(lines, "and",
            fmt::format("{}: event {}, {}", place.role, place.at.event.seq, text_of(code)));
    add(lines, "called", callers(place));
}

Lines rule_lines(const Finding &finding)
{
    Lines lines = {
        fmt::format("  {} {}: {}{}{}", name_of(finding.severity), finding.rule, finding.title,
                    finding.known ? " (known)" : "",
                    finding.part_of.empty() ? "" : " (part of " + finding.part_of + ")")};
    for (const Place &place : finding.places) {
        add_place(lines, place);
        if (place.role == findings::kAt) {
            add(lines, "seen", occurrences(finding));
            add(lines, "lines", line_list(finding));
        }
    }
    add(lines, "fix", finding.fix);
    add(lines, "note", finding.note);
    if (finding.crash_seq)
        add(lines, "decide",
            fmt::format("fencepost states RUN --window seq:{0}-{0} --strategy exhaustive:1000 "
                        "--list",
                        *finding.crash_seq));
    add(lines, "id", finding.id);
    return lines;
}

std::string code_of(const Place *place)
{
    if (!place)
        return "unknown code";
    return findings::text_of(place->at) +
           (place->operation.empty() ? "" : " (in: " + place->operation + ")");
}

std::string some_of(const std::vector<std::string> &names)
{
    return names.size() > kMostNames
               ? fmt::format("{} and {} more", fmt::join(std::span(names).first(kMostNames), ", "),
                             names.size() - kMostNames)
               : fmt::format("{}", fmt::join(names, ", "));
}

// Each of several callers may be the one that forgets something.
std::string for_callers(const Finding &finding)
{
    return finding.callers.size() < 2 ? "" : "; stored for " + some_of(finding.callers);
}

// "append+0x8 (in: write a)", or which it could be.
std::string store_of(const Finding &finding, std::string_view role, std::size_t sites,
                     const std::vector<std::string> &code)
{
    if (const Place *place = place_of(finding, role))
        return code_of(place);
    const std::string which = some_of(code);
    return fmt::format("one of {} stores{}{}", sites, which.empty() ? "" : " of ", which);
}

const char *how_lost(const Finding &finding)
{
    return finding.unfenced ? " (flushed, not fenced)" : "";
}

} // namespace

std::string what_decides(const Finding &finding)
{
    if (finding.kind == Kind::workload)
        return "fails without a power failure";
    const std::string absent =
        store_of(finding, findings::kAbsent, finding.absent_sites.size(), finding.absent_code);
    const std::string present =
        store_of(finding, findings::kPresent, finding.present_sites.size(), finding.present_code);
    const std::string last = code_of(place_of(finding, findings::kLast));
    switch (finding.decides) {
    case Decides::order:
        return fmt::format("{} lost{}, {} persisted{}", absent, how_lost(finding), present,
                           for_callers(finding));
    case Decides::absent:
        return absent + " lost" + how_lost(finding) + for_callers(finding);
    case Decides::present:
        return present + " persisted" + for_callers(finding);
    case Decides::neither:
        return "fails with all and with none of the stores in flight; last store: " + last;
    case Decides::unknown:
        break;
    }
    return "deciding store not found; last store: " + last;
}

namespace {

Lines judged_lines(const Finding &finding)
{
    Lines lines = {fmt::format("  {} {} {}: {} ({}){}", finding.id, name_of(finding.severity),
                               finding.verdict, finding.title, finding.oracle,
                               finding.known ? " (known)" : "")};
    std::string shown = finding.count == 0 ? "" : plural(finding.count, "image", "images") + "; ";
    if (finding.state_count > finding.count)
        shown = fmt::format("{} of {} states; ", plural(finding.count, "image", "images"),
                            finding.state_count);
    lines.push_back("    " + shown + what_decides(finding));
    for (std::size_t i = 0; i < finding.also.size() && i < kMostSymptoms; ++i)
        lines.push_back(fmt::format("    also seen as {}: {} ({}; {})", finding.also[i].verdict,
                                    finding.also[i].title, finding.also[i].oracle,
                                    plural(finding.also[i].count, "image", "images")));
    if (finding.also.size() > kMostSymptoms)
        lines.push_back(
            fmt::format("    also seen in {} more ways", finding.also.size() - kMostSymptoms));
    if (!finding.note.empty())
        lines.push_back("    " + finding.note);
    return lines;
}

// Where it is, for a list that is grouped by function.
std::string group_of(const Finding &finding)
{
    if (finding.places.empty())
        return "unknown code";
    const CodePlace &code = findings::responsible_code(finding.places.front().at);
    return fmt::format("{} [{}]", symbols::shortened_name(code.function),
                       code.module.empty() ? "unknown module" : code.module);
}

std::string counts_of(const findings::Report &report)
{
    std::uint64_t counts[std::size(findings::kSeverities)] = {};
    std::uint64_t known = 0;
    for (const Finding &finding : report.findings) {
        ++counts[static_cast<unsigned>(finding.severity)];
        known += finding.known;
    }
    std::string line =
        fmt::format("findings   {}, {}, {} performance", plural(counts[0], "bug", "bugs"),
                    plural(counts[1], "warning", "warnings"), counts[2]);
    if (known != 0)
        line += fmt::format("; {} of them known", known);
    if (report.summary.suppressed != 0)
        line += fmt::format("; {} suppressed", report.summary.suppressed);
    if (report.summary.known_code != 0)
        line += fmt::format("; {} more in known code", report.summary.known_code);
    return line;
}

} // namespace

Lines text_lines(const Finding &finding)
{
    Lines lines = finding.kind == Kind::rule ? rule_lines(finding) : judged_lines(finding);
    for (const findings::Related &each : finding.related) {
        std::string line = fmt::format("    also found by {} {} at the same store",
                                       each.kind == Kind::rule ? "rule" : "oracle", each.by);
        if (line != lines.back()) // of one rule with several callers
            lines.push_back(std::move(line));
    }
    return lines;
}

Lines text_lines(const findings::Report &report)
{
    // Functions in the order of their first finding.
    std::vector<std::pair<std::string, Lines>> groups;
    std::map<std::string, std::size_t> index;
    for (const Finding &finding : report.findings) {
        const auto [group, added] = index.emplace(group_of(finding), groups.size());
        if (added)
            groups.push_back({group->first, {}});
        const Lines lines = text_lines(finding);
        Lines &into = groups[group->second].second;
        into.insert(into.end(), lines.begin(), lines.end());
    }
    Lines out;
    for (const auto &[name, lines] : groups) {
        out.push_back(name);
        out.insert(out.end(), lines.begin(), lines.end());
        out.emplace_back();
    }
    const findings::RuleSummary &summary = report.summary;
    for (const std::string &statement : summary.statements)
        out.push_back("note       " + statement);
    out.push_back(fmt::format("read       {}, model {}, fences {}, persistency {}",
                              plural(summary.events, "event", "events"), summary.model,
                              summary.fences, summary.persistency));
    out.push_back(counts_of(report));
    return out;
}

} // namespace fencepost::report
