// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_html.h.
#include "analyzer/report/finding_html.h"

#include <fmt/format.h>

#include "analyzer/findings/site_name.h"
#include "analyzer/report/evidence_words.h"
#include "analyzer/report/finding_text.h"
#include "analyzer/report/text.h"
#include "base/terminal_text.h"

namespace fencepost::report {

using findings::Finding;
using findings::Kind;
using findings::Place;
using kainjow::mustache::data;
using kainjow::mustache::list;

namespace {

std::string joined(const std::vector<std::string> &lines, std::string_view between)
{
    std::string text;
    for (const std::string &line : lines)
        text += (text.empty() ? "" : std::string(between)) + line;
    return text;
}

data fact(const std::string &name, const std::string &value)
{
    data made;
    made.set("name", name);
    made.set("value", safe_text(value));
    return made;
}

list facts_of(const ShownFinding &shown)
{
    const Finding &finding = shown.finding;
    const bool by_rule = finding.kind == Kind::rule;
    list facts;
    const auto add = [&](const char *name, const std::string &value) {
        if (!value.empty())
            facts.push_back(fact(name, value));
    };
    add("Found by",
        by_rule ? "rule " + finding.rule : "oracle " + finding.oracle + ": " + finding.verdict);
    add("Decides", by_rule ? "" : what_decides(finding));
    if (shown.timeline && shown.timeline->crashed)
        add("Power fails", fmt::format("before event {}, in epoch {}", shown.timeline->crash_seq,
                                       shown.timeline->epoch));
    add("Operation", shown.operation);
    add("Seen", by_rule ? fmt::format("{} time{}", finding.count, finding.count == 1 ? "" : "s")
                        : fmt::format("in {} image{}; state {}", finding.count,
                                      finding.count == 1 ? "" : "s", finding.state));
    add("Note", finding.note);
    add("Fix", finding.fix);
    for (const findings::Related &each : finding.related)
        add("Related", fmt::format("{} {} at the same store: {}",
                                   each.kind == Kind::rule ? "rule" : "oracle", each.by, each.id));
    add("Part of", finding.part_of);
    add("Baseline", finding.known ? "known" : "");
    return facts;
}

list evidence_of(const Finding &finding)
{
    list all;
    for (const findings::Evidence &each : finding.evidence) {
        const EvidenceWords words = words_of(each);
        data evidence;
        evidence.set("oracle", safe_text(each.oracle));
        evidence.set("verdict", safe_text(each.verdict));
        evidence.set("title", safe_text(each.title));
        data promise;
        promise.set("name", safe_text(words.promise));
        promise.set("source", safe_text(words.promise_source));
        evidence.set("promise", words.promise.empty() ? data(false) : promise);
        list against;
        for (const LegalTree &tree : words.against) {
            data legal;
            list differences;
            for (const std::string &difference : tree.differences)
                differences.push_back(safe_text(difference));
            legal.set("as", safe_text(tree.as));
            legal.set("differences", differences);
            against.push_back(legal);
        }
        evidence.set("has_against", !against.empty());
        evidence.set("against", against);
        evidence.set("has_said", !words.said.empty());
        evidence.set("said", safe_lines(joined(words.said, "\n")));
        all.push_back(evidence);
    }
    return all;
}

data event_data(const TimelineRow &row)
{
    data event;
    std::string kind(name_of(row.fate));
    if (!row.role.empty())
        kind += " decides";
    event.set("class", kind);
    event.set("seq", fmt::format("{}", row.first_seq));
    std::string what = row.what;
    if (row.events > 1)
        what += fmt::format(" x{}", row.events);
    if (row.size != 0)
        what += fmt::format(", {} bytes", row.size);
    event.set("what", safe_text(what));
    event.set("place", safe_text(row.place));
    event.set("belongs_to", row.belongs_to.empty() ? data(false) : data(safe_text(row.belongs_to)));
    event.set("code", safe_text(row.code));
    event.set("instruction", row.instruction.empty() || row.code.ends_with(')')
                                 ? data(false)
                                 : data(safe_text(row.instruction)));
    event.set("bytes",
              row.after.empty()
                  ? ""
                  : fmt::format("{} \u2192 {}{}", bytes_text(row.before), bytes_text(row.after),
                                row.size * 2 > row.after.size() ? "\u2026" : ""));
    event.set("state", words_of(row));
    event.set("decides", row.role.empty() ? data(false) : data(safe_text(role_mark(row))));
    return event;
}

data marker_data(const TimelineRow &row)
{
    data marker;
    marker.set("seq", fmt::format("{}", row.first_seq));
    marker.set("text", safe_text(marker_words(row)));
    return marker;
}

data row_data(const TimelineRow &row, bool crash_before, const Timeline &timeline)
{
    data made;
    made.set("skipped", row.skipped == 0 ? data(false) : data(fmt::format("{}", row.skipped)));
    data crash;
    crash.set("text", power_failure_words(timeline));
    made.set("crash", crash_before ? crash : data(false));
    const bool is_marker = row.kind == trace::EventKind::marker;
    made.set("marker", is_marker ? marker_data(row) : data(false));
    made.set("event", is_marker ? data(false) : event_data(row));
    return made;
}

data timeline_data(const Timeline &timeline)
{
    list rows;
    bool failed = !timeline.crashed;
    for (const TimelineRow &row : timeline.rows) {
        const bool fails = !failed && row.first_seq >= timeline.crash_seq;
        failed = failed || fails;
        rows.push_back(row_data(row, fails, timeline));
    }
    if (!failed) {
        data last;
        data crash;
        crash.set("text", power_failure_words(timeline));
        for (const char *name : {"skipped", "marker", "event"})
            last.set(name, false);
        last.set("crash", crash);
        rows.push_back(last);
    }
    data made;
    made.set("rows", rows);
    return made;
}

list stacks_of(const Finding &finding)
{
    list stacks;
    for (const Place *place : places_with_stack(finding)) {
        data stack;
        list frames;
        frames.push_back(safe_text(text_of(place->at.code)));
        for (const symbols::CodePlace &caller : place->at.callers)
            frames.push_back(safe_text(text_of(caller)));
        stack.set("title", safe_text(place_title(*place)));
        stack.set("frames", frames);
        stacks.push_back(stack);
    }
    return stacks;
}

void add_text(data &made, const std::string &name, const std::string &text)
{
    made.set("has_" + name, !text.empty());
    made.set(name, safe_lines(text));
}

} // namespace

std::string module_of(const Finding &finding)
{
    const std::string module = finding.places.empty() ? "" : finding.places.front().at.code.module;
    return module.empty() ? "unknown" : module;
}

std::string module_key(const std::string &module)
{
    return "m-" + safe_text(module);
}

std::string safe_text(std::string_view text)
{
    return terminal_text(text);
}

std::string safe_lines(std::string_view text)
{
    std::string safe;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        safe += (at == 0 ? "" : "\n") + terminal_text(text.substr(at, end - at));
        at = end + 1;
    }
    return safe;
}

data finding_data(const ShownFinding &shown)
{
    const Finding &finding = shown.finding;
    data made;
    made.set("id", safe_text(finding.id));
    made.set("severity", std::string(name_of(finding.severity)));
    made.set("module_key", module_key(module_of(finding)));
    made.set("sentence", safe_text(sentence_of(finding)));
    made.set(
        "where",
        safe_text(finding.kind == Kind::rule
                      ? finding.rule + (finding.places.empty()
                                            ? ""
                                            : ": " + findings::text_of(finding.places.front().at))
                      : what_decides(finding)));
    made.set("facts", facts_of(shown));
    made.set("evidence", evidence_of(finding));
    made.set("timeline", shown.timeline ? timeline_data(*shown.timeline) : data(false));
    made.set("no_timeline",
             shown.no_timeline.empty() ? data(false) : data(safe_text(shown.no_timeline)));
    made.set("not_annotated",
             shown.not_annotated.empty() ? data(false) : data(safe_text(shown.not_annotated)));
    const list stacks = stacks_of(finding);
    made.set("has_stacks", !stacks.empty());
    made.set("stacks", stacks);
    add_text(made, "minimal", joined(minimal_lines(shown.finding, shown.minimal), "\n"));
    add_text(made, "log", shown.kernel_log);
    add_text(made, "files", joined(shown.files, " "));
    made.set("folder", safe_text(shown.folder));
    add_text(made, "next", joined(shown.next, "\n"));
    return made;
}

} // namespace fencepost::report
