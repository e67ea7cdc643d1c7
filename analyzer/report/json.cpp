// SPDX-License-Identifier: GPL-2.0-or-later
// See json.h.
#include "analyzer/report/json.h"

#include <nlohmann/json.hpp>

namespace fencepost::report {

using findings::Finding;
using findings::Place;
using findings::Severity;
using nlohmann::json;
using symbols::CodePlace;

namespace {

json or_null(const std::string &text)
{
    return text.empty() ? json() : json(text);
}

json to_json(const CodePlace &code)
{
    json result = {{"function", code.function},
                   {"offset", code.offset},
                   {"named", code.named},
                   {"module", code.module}};
    if (code.inlined)
        result["inlined"] = true;
    result["source_file"] = or_null(code.source_file);
    result["source_line"] = code.source_file.empty() ? json() : json(code.source_line);
    if (!code.instruction.empty())
        result["instruction"] = code.instruction;
    return result;
}

json to_json(const Place &place, bool has_event)
{
    json callers = json::array();
    for (const CodePlace &caller : place.at.callers)
        callers.push_back(to_json(caller));
    return {{"role", place.role},
            {"seq", has_event ? json(place.at.event.seq) : json()},
            {"site", to_json(place.at.code)},
            {"stack", callers},
            {"operation", or_null(place.operation)}};
}

json to_json(const findings::Evidence &evidence)
{
    return {{"oracle", evidence.oracle},
            {"verdict", evidence.verdict},
            {"title", evidence.title},
            {"summary", evidence.summary},
            {"details", json::parse(evidence.details, nullptr, false)}};
}

void add_rule(json &result, const Finding &finding)
{
    result["rule"] = finding.rule;
    result["first_seq"] = finding.has_event ? json(finding.first_seq) : json();
    result["last_seq"] = finding.has_event ? json(finding.last_seq) : json();
    result["lines"] = finding.lines;
    result["more_lines"] = finding.more_lines;
    result["crash_seq"] = finding.crash_seq ? json(*finding.crash_seq) : json();
}

void add_judgement(json &result, const Finding &finding)
{
    result["verdict"] = finding.verdict;
    result["oracle"] = finding.oracle;
    result["decides"] = name_of(finding.decides);
    result["absent_sites"] = finding.absent_sites.size();
    result["present_sites"] = finding.present_sites.size();
    result["absent_code"] = finding.absent_code;
    result["present_code"] = finding.present_code;
    result["callers"] = finding.callers;
    result["other_ids"] = finding.other_ids;
    result["unfenced"] = finding.unfenced;
    result["also"] = json::array();
    for (const findings::Symptom &each : finding.also)
        result["also"].push_back({{"verdict", each.verdict},
                                  {"oracle", each.oracle},
                                  {"summary", each.summary},
                                  {"title", each.title},
                                  {"count", each.count}});
    result["state"] = or_null(finding.state);
    result["state_count"] = finding.state_count;
    result["states"] = finding.states;
    result["image"] = finding.image != 0 ? json(finding.image) : json();
}

} // namespace

json to_json(const Finding &finding)
{
    json result = {{"id", finding.id},
                   {"kind", name_of(finding.kind)},
                   {"severity", name_of(finding.severity)},
                   {"title", finding.title},
                   {"summary", finding.summary},
                   {"fix", or_null(finding.fix)},
                   {"note", or_null(finding.note)},
                   {"count", finding.count},
                   {"places", json::array()},
                   {"evidence", json::array()},
                   {"related", json::array()},
                   {"known", finding.known}};
    for (const Place &place : finding.places)
        result["places"].push_back(
            to_json(place, finding.has_event || place.role != findings::kAt));
    for (const findings::Evidence &each : finding.evidence)
        result["evidence"].push_back(to_json(each));
    for (const findings::Related &each : finding.related)
        result["related"].push_back(
            {{"id", each.id}, {"kind", name_of(each.kind)}, {"by", each.by}});
    if (finding.kind == findings::Kind::rule) {
        add_rule(result, finding);
        result["part_of"] = or_null(finding.part_of);
    } else
        add_judgement(result, finding);
    return result;
}

json to_json(const findings::Report &report)
{
    const findings::RuleSummary &summary = report.summary;
    json findings = json::array();
    std::uint64_t counts[std::size(findings::kSeverities)] = {};
    for (const Finding &finding : report.findings) {
        findings.push_back(to_json(finding));
        ++counts[static_cast<unsigned>(finding.severity)];
    }
    json count = json::object();
    for (const Severity severity : findings::kSeverities)
        count[std::string(name_of(severity))] = counts[static_cast<unsigned>(severity)];
    return {{"events", summary.events},
            {"model", summary.model},
            {"fences", summary.fences},
            {"persistency", summary.persistency},
            {"complete", summary.complete},
            {"rules", summary.rules},
            {"statements", summary.statements},
            {"suppressed", summary.suppressed},
            {"known_code", summary.known_code},
            {"count", count},
            {"findings", findings}};
}

} // namespace fencepost::report
