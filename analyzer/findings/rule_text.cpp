// SPDX-License-Identifier: GPL-2.0-or-later
// See rule_text.h.
#include "analyzer/findings/rule_text.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace fencepost::findings {

namespace {

std::string plural(std::uint64_t count, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string callers(const EventPlace &place)
{
    std::string text;
    for (const CodePlace &caller : place.callers)
        text += (text.empty() ? "" : " < ") + text_of(caller);
    return text;
}

std::string occurrences(const RuleFinding &finding)
{
    if (!finding.has_event)
        return fmt::format("{}, not recorded as events", plural(finding.count, "time", "times"));
    if (finding.count == 1)
        return fmt::format("event {}", finding.first_seq);
    return fmt::format("{}, events {} to {}", plural(finding.count, "time", "times"),
                       finding.first_seq, finding.last_seq);
}

std::string line_list(const RuleFinding &finding)
{
    std::string text;
    for (const std::uint64_t line : finding.lines)
        text += fmt::format("{}0x{:x}", text.empty() ? "" : " ", line);
    return text + (finding.more_lines ? " and more" : "");
}

class Lines {
public:
    void add(std::string_view label, const std::string &text)
    {
        if (!text.empty())
            lines.push_back(fmt::format("    {:<8}{}", label, text));
    }
    std::vector<std::string> lines;
};

void add_finding(Lines &out, const RuleFinding &finding)
{
    out.lines.push_back(fmt::format("  {} {}: {}{}", name_of(finding.severity), finding.rule,
                                    finding.message, finding.known ? " (known)" : ""));
    const std::string instruction = finding.place.code.instruction;
    out.add("at", text_of(finding.place.code) + (instruction.empty() ? "" : ": " + instruction));
    out.add("called", callers(finding.place));
    out.add("seen", occurrences(finding));
    out.add("lines", line_list(finding));
    if (finding.other) {
        out.add("and", fmt::format("{}: event {}, {}", finding.other_role, finding.other->event.seq,
                                   text_of(finding.other->code)));
        out.add("called", callers(*finding.other));
    }
    out.add("fix", finding.fix);
    out.add("note", finding.note);
    if (finding.crash_seq)
        out.add(
            "decide",
            fmt::format("fencepost states RUN --window seq:{}-{} --strategy exhaustive:1000 --list",
                        *finding.crash_seq, *finding.crash_seq));
    out.add("id", finding.id);
}

} // namespace

std::vector<std::string> text_lines(const RuleReport &report)
{
    Lines out;
    // Functions in the order of their first finding.
    std::vector<std::pair<std::string, std::vector<const RuleFinding *>>> groups;
    std::map<std::string, std::size_t> index;
    for (const RuleFinding &finding : report.findings) {
        const CodePlace &code = finding.place.code;
        const std::string name = fmt::format("{} [{}]", code.function,
                                             code.module.empty() ? "unknown module" : code.module);
        const auto [group, added] = index.emplace(name, groups.size());
        if (added)
            groups.push_back({name, {}});
        groups[group->second].second.push_back(&finding);
    }
    for (const auto &group : groups) {
        out.lines.push_back(group.first);
        for (const RuleFinding *finding : group.second)
            add_finding(out, *finding);
        out.lines.push_back("");
    }
    const RuleSummary &summary = report.summary;
    for (const std::string &statement : summary.statements)
        out.lines.push_back("note       " + statement);
    out.lines.push_back(fmt::format("read       {}, model {}, fences {}, persistency {}, {}",
                                    plural(summary.events, "event", "events"), summary.model,
                                    summary.fences, summary.persistency,
                                    plural(summary.rules.size(), "rule", "rules")));
    std::uint64_t counts[3] = {};
    std::uint64_t known = 0;
    for (const RuleFinding &finding : report.findings) {
        ++counts[static_cast<unsigned>(finding.severity)];
        known += finding.known;
    }
    std::string line =
        fmt::format("findings   {}, {}, {} of performance", plural(counts[0], "bug", "bugs"),
                    plural(counts[1], "warning", "warnings"), counts[2]);
    if (known != 0)
        line += fmt::format("; {} of them known", known);
    if (summary.suppressed != 0)
        line += fmt::format("; {} suppressed", summary.suppressed);
    if (summary.known_code != 0)
        line += fmt::format("; {} more in known code", summary.known_code);
    out.lines.push_back(line);
    return out.lines;
}

} // namespace fencepost::findings
