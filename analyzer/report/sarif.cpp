// SPDX-License-Identifier: GPL-2.0-or-later
// See sarif.h.
#include "analyzer/report/sarif.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/site_name.h"

namespace fencepost::report {

using findings::Finding;
using findings::Kind;
using findings::Place;
using findings::Severity;
using nlohmann::json;
using symbols::CodePlace;

namespace {

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
json location_of(const CodePlace &code, const std::string &message)
{
    json location = {
        {"logicalLocations",
         {{{"name", code.function},
           {"kind", "function"},
           {"fullyQualifiedName", code.inlined ? fmt::format("{}!{}", code.module, code.function)
                                               : fmt::format("{}!{}+0x{:x}", code.module,
                                                             code.function, code.offset)}}}}};
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

json stack_of(const Place &place, const std::string &message)
{
    const CodePlace &code = place.at.code;
    json frames = json::array({{{"location", location_of(code, code.instruction)}}});
    for (const CodePlace &caller : place.at.callers)
        frames.push_back({{"location", location_of(caller, "")}});
    return {{"message", {{"text", message}}}, {"frames", frames}};
}

const char *level_of(Severity severity)
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

std::string message_of(const Finding &finding)
{
    std::string text = finding.title + ".";
    if (!finding.fix.empty())
        text += " What would make it right: " + finding.fix + ".";
    if (!finding.note.empty())
        text += " It " + finding.note + ".";
    return text;
}

json properties_of(const Finding &finding)
{
    json properties = {{"severity", name_of(finding.severity)}};
    if (finding.kind == Kind::rule)
        properties.update({{"firstSeq", finding.first_seq},
                           {"lastSeq", finding.last_seq},
                           {"lines", finding.lines}});
    else
        properties.update({{"oracle", finding.oracle},
                           {"decides", name_of(finding.decides)},
                           {"state", finding.state}});
    return properties;
}

// The first place is the result's, the others are related to it; each has its stack.
void add_places(json &result, const Finding &finding)
{
    for (const Place &place : finding.places) {
        if (&place == &finding.places.front()) {
            // Whoever had a copy routine store: it is the line to annotate.
            result["locations"].push_back(location_of(findings::responsible_code(place.at), ""));
            result["stacks"].push_back(stack_of(place, finding.title));
            continue;
        }
        json related = location_of(findings::responsible_code(place.at), place.role);
        related["id"] = &place - finding.places.data();
        result["relatedLocations"].push_back(related);
        result["stacks"].push_back(stack_of(place, place.role));
    }
}

json result_of(const Finding &finding, const std::vector<findings::RuleDescription> &catalog)
{
    json result = {{"ruleId", finding.kind == Kind::rule ? finding.rule : finding.verdict},
                   {"level", level_of(finding.severity)},
                   {"kind", "fail"},
                   {"message", {{"text", message_of(finding)}}},
                   {"locations", json::array()},
                   {"partialFingerprints", {{"fencepost/v1", finding.id}}},
                   {"properties", properties_of(finding)}};
    const auto rule = std::find_if(catalog.begin(), catalog.end(),
                                   [&](const auto &each) { return each.name == result["ruleId"]; });
    if (rule != catalog.end())
        result["ruleIndex"] = rule - catalog.begin();
    if (finding.count != 0)
        result["occurrenceCount"] = finding.count;
    if (finding.known)
        result["baselineState"] = "unchanged";
    add_places(result, finding);
    return result;
}

} // namespace

json to_sarif(const findings::Report &report)
{
    json rules = json::array();
    for (const findings::RuleDescription &rule : report.catalog)
        rules.push_back(
            {{"id", rule.name},
             {"shortDescription", {{"text", rule.sentence}}},
             {"fullDescription", {{"text", rule.sentence + ". " + rule.certainty + "."}}},
             {"defaultConfiguration", {{"level", level_of(rule.severity)}}}});
    json results = json::array();
    for (const Finding &finding : report.findings)
        results.push_back(result_of(finding, report.catalog));
    json notifications = json::array();
    for (const std::string &statement : report.summary.statements)
        notifications.push_back({{"level", "note"}, {"message", {{"text", statement}}}});
    const json invocation = {{"executionSuccessful", true},
                             {"toolExecutionNotifications", notifications}};
    const json run = {{"tool", {{"driver", {{"name", "fencepost"}, {"rules", rules}}}}},
                      {"invocations", {invocation}},
                      {"results", results}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", {run}}};
}

} // namespace fencepost::report
