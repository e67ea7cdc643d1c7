// SPDX-License-Identifier: GPL-2.0-or-later
// See rule_json.h.
#include "analyzer/findings/rule_json.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fencepost::findings {

using nlohmann::json;

namespace {

json to_json(const CodePlace &code)
{
    json result = {{"function", code.function},
                   {"offset", code.offset},
                   {"named", code.named},
                   {"module", code.module}};
    result["source_file"] = code.source_file.empty() ? json() : json(code.source_file);
    result["source_line"] = code.source_file.empty() ? json() : json(code.source_line);
    if (!code.instruction.empty())
        result["instruction"] = code.instruction;
    return result;
}

json to_json(const EventPlace &place, bool has_event)
{
    json callers = json::array();
    for (const CodePlace &caller : place.callers)
        callers.push_back(to_json(caller));
    return {{"seq", has_event ? json(place.event.seq) : json()},
            {"site", to_json(place.code)},
            {"stack", callers}};
}

json to_json(const RuleFinding &finding)
{
    json result = {{"id", finding.id},
                   {"rule", finding.rule},
                   {"severity", name_of(finding.severity)},
                   {"message", finding.message},
                   {"count", finding.count},
                   {"first_seq", finding.has_event ? json(finding.first_seq) : json()},
                   {"last_seq", finding.has_event ? json(finding.last_seq) : json()},
                   {"lines", finding.lines},
                   {"more_lines", finding.more_lines},
                   {"place", to_json(finding.place, finding.has_event)},
                   {"known", finding.known}};
    result["fix"] = finding.fix.empty() ? json() : json(finding.fix);
    result["note"] = finding.note.empty() ? json() : json(finding.note);
    result["other"] = json();
    if (finding.other) {
        result["other"] = to_json(*finding.other, true);
        result["other"]["role"] = finding.other_role;
    }
    result["crash_seq"] = finding.crash_seq ? json(*finding.crash_seq) : json();
    return result;
}

// RFC 3986: absolute paths as file URIs, others relative to whatever the reader takes for the root.
std::string uri_of(const std::string &path)
{
    std::string uri = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') ||
                           std::string_view("/-._~").find(c) != std::string_view::npos;
        uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return uri;
}

// Code hosts show a place only where there is a file; the function is there in any case.
json sarif_location(const CodePlace &code, const std::string &message)
{
    json location = {{"logicalLocations",
                      {{{"name", code.function},
                        {"kind", "function"},
                        {"fullyQualifiedName",
                         fmt::format("{}!{}+0x{:x}", code.module, code.function, code.offset)}}}}};
    if (!code.source_file.empty()) {
        json physical = {{"artifactLocation", {{"uri", uri_of(code.source_file)}}}};
        if (code.source_line != 0)
            physical["region"] = {{"startLine", code.source_line}};
        location["physicalLocation"] = physical;
    }
    if (!message.empty())
        location["message"] = {{"text", message}};
    return location;
}

json sarif_stack(const EventPlace &place, const std::string &message)
{
    json frames = json::array({{{"location", sarif_location(place.code, place.code.instruction)}}});
    for (const CodePlace &caller : place.callers)
        frames.push_back({{"location", sarif_location(caller, "")}});
    return {{"message", {{"text", message}}}, {"frames", frames}};
}

const char *sarif_level(Severity severity)
{
    switch (severity) {
    case Severity::bug:
        return "error";
    case Severity::warning:
        return "warning";
    case Severity::performance:
        return "note";
    }
    return "none";
}

json sarif_result(const RuleFinding &finding, std::size_t rule_index)
{
    std::string text = finding.message + ".";
    if (!finding.fix.empty())
        text += " What would make it right: " + finding.fix + ".";
    if (!finding.note.empty())
        text += " It " + finding.note + ".";
    json result = {{"ruleId", finding.rule},
                   {"ruleIndex", rule_index},
                   {"level", sarif_level(finding.severity)},
                   {"kind", "fail"},
                   {"message", {{"text", text}}},
                   {"locations", {sarif_location(finding.place.code, "")}},
                   {"partialFingerprints", {{"fencepost/v1", finding.id}}},
                   {"occurrenceCount", finding.count},
                   {"stacks", {sarif_stack(finding.place, finding.message)}},
                   {"properties",
                    {{"severity", name_of(finding.severity)},
                     {"firstSeq", finding.first_seq},
                     {"lastSeq", finding.last_seq},
                     {"lines", finding.lines}}}};
    if (finding.known)
        result["baselineState"] = "unchanged";
    if (finding.other) {
        json related = sarif_location(finding.other->code, finding.other_role);
        related["id"] = 1;
        result["relatedLocations"] = json::array({related});
        result["stacks"].push_back(sarif_stack(*finding.other, finding.other_role));
    }
    return result;
}

} // namespace

json to_json(const RuleReport &report)
{
    const RuleSummary &summary = report.summary;
    json findings = json::array();
    std::uint64_t counts[3] = {};
    for (const RuleFinding &finding : report.findings) {
        findings.push_back(to_json(finding));
        ++counts[static_cast<unsigned>(finding.severity)];
    }
    json count = json::object();
    for (const Severity severity : kSeverities)
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

json to_sarif(const RuleReport &report, const std::vector<RuleDescription> &rules)
{
    json descriptions = json::array();
    for (const RuleDescription &rule : rules)
        descriptions.push_back(
            {{"id", rule.name},
             {"shortDescription", {{"text", rule.sentence}}},
             {"fullDescription", {{"text", rule.sentence + ". " + rule.certainty + "."}}},
             {"defaultConfiguration", {{"level", sarif_level(rule.severity)}}}});
    json results = json::array();
    for (const RuleFinding &finding : report.findings) {
        std::size_t index = 0;
        while (index + 1 < rules.size() && rules[index].name != finding.rule)
            ++index;
        results.push_back(sarif_result(finding, index));
    }
    json notifications = json::array();
    for (const std::string &statement : report.summary.statements)
        notifications.push_back({{"level", "note"}, {"message", {{"text", statement}}}});
    const json invocation = {{"executionSuccessful", true},
                             {"toolExecutionNotifications", notifications}};
    const json run = {{"tool", {{"driver", {{"name", "fencepost"}, {"rules", descriptions}}}}},
                      {"invocations", {invocation}},
                      {"results", results}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", {run}}};
}

} // namespace fencepost::findings
