// SPDX-License-Identifier: GPL-2.0-or-later
// See run_json.h.
#include "analyzer/report/run_json.h"

#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "base/json.h"

namespace fencepost::report {

using nlohmann::json;

namespace {

json or_null(const std::string &text)
{
    return text.empty() ? json() : json(text);
}

template <typename Value> json or_null(const std::optional<Value> &value)
{
    return value ? json(*value) : json();
}

json to_json(const TimelineRow &row)
{
    json result = {{"first_seq", row.first_seq}, {"last_seq", row.last_seq}, {"events", row.events},
                   {"kind", name_of(row.kind)},  {"what", row.what},         {"code", row.code},
                   {"skipped", row.skipped}};
    if (row.kind != trace::EventKind::marker)
        result["instruction"] = row.instruction;
    if (!row.place.empty())
        result.update({{"place", row.place}, {"size", row.size}});
    if (!row.belongs_to.empty())
        result["belongs_to"] = row.belongs_to;
    if (!row.after.empty())
        result.update({{"before", row.before}, {"after", row.after}});
    if (row.fate != Fate::none)
        result.update({{"fate", name_of(row.fate)}, {"flushed", row.flushed}});
    if (!row.role.empty())
        result["role"] = row.role;
    return result;
}

json to_json(const Timeline &timeline)
{
    json rows = json::array();
    for (const TimelineRow &row : timeline.rows)
        rows.push_back(to_json(row));
    json result = {{"rows", rows}};
    if (timeline.crashed)
        result.update({{"crash_seq", timeline.crash_seq},
                       {"epoch", timeline.epoch},
                       {"in_flight_stores", timeline.in_flight_stores},
                       {"persisted_stores", timeline.persisted_stores}});
    return result;
}

json to_json(const Session &session)
{
    return {{"started", session.started},
            {"strategy", session.strategy},
            {"model", session.model},
            {"fences", session.fences},
            {"seed", session.seed},
            {"jobs", session.jobs},
            {"guest", session.guest},
            {"stop", or_null(session.stop)},
            {"seconds", or_null(session.seconds)},
            {"generated", session.generated},
            {"tested", session.tested}};
}

json to_json(const Epoch &epoch)
{
    return {{"epoch", epoch.number},
            {"first_seq", epoch.first_seq},
            {"end_seq", epoch.end_seq},
            {"stores", epoch.stores},
            {"flushes", epoch.flushes},
            {"fences", epoch.fences},
            {"lines", epoch.lines},
            {"legal", {{"exact", or_null(epoch.legal)}, {"log2", epoch.legal_log2}}},
            {"tested", epoch.tested},
            {"failing", epoch.failing},
            {"operation", epoch.operation < 0 ? json() : json(epoch.operation)}};
}

json to_json(const Operation &operation)
{
    return {{"number", operation.number},       {"text", operation.text},
            {"first_seq", operation.first_seq}, {"last_seq", or_null(operation.last_seq)},
            {"tested", operation.tested},       {"failing", operation.failing}};
}

json to_json(const ModuleCoverage &module)
{
    return {{"module", module.module},
            {"functions", module.functions},
            {"seen", module.seen},
            {"unseen", module.unseen}};
}

json to_json(const FunctionActivity &function)
{
    return {{"function", function.function}, {"module", function.module},
            {"stores", function.stores},     {"flushes", function.flushes},
            {"fences", function.fences},     {"volatile_flushes", function.volatile_flushes}};
}

template <typename Values> json list_of(const Values &values)
{
    json list = json::array();
    for (const auto &each : values)
        list.push_back(to_json(each));
    return list;
}

json coverage_of(const RunReport &report)
{
    return {{"model", report.model},
            {"fences", report.fences},
            {"missing", or_null(report.no_epochs)},
            {"legal", {{"exact", or_null(report.legal)}, {"log2", report.legal_log2}}},
            {"crash_points", report.crash_points},
            {"failure_points", report.failure_points},
            {"epochs", list_of(report.epochs)},
            {"functions", list_of(report.functions)},
            {"modules", list_of(report.modules)},
            {"sites", report.code_sites},
            {"named_sites", report.named_code_sites}};
}

} // namespace

json to_json(const ShownFinding &shown)
{
    json result = to_json(shown.finding);
    const json minimal = json_or_discarded(shown.minimal);
    result["during"] = or_null(shown.operation);
    result["timeline"] = shown.timeline ? to_json(*shown.timeline) : json();
    result["no_timeline"] = or_null(shown.no_timeline);
    result["not_annotated"] = or_null(shown.not_annotated);
    result["minimal"] = minimal.is_object() ? minimal : json();
    result["folder"] = or_null(shown.folder);
    result["files"] = shown.files;
    result["next"] = shown.next;
    return result;
}

json to_json(const TestOutcome &outcome)
{
    json infra = json::array();
    for (const auto &[reason, images] : outcome.infra_reasons)
        infra.push_back({{"reason", reason}, {"images", images}});
    json healthy = json::array();
    for (const HealthyObjection &each : outcome.healthy)
        healthy.push_back({{"image", each.image},
                           {"oracle", each.oracle},
                           {"verdict", each.verdict},
                           {"summary", each.summary},
                           {"masked", each.masked}});
    return {{"tested", outcome.tested},
            {"running", outcome.running},
            {"oracles", outcome.oracles},
            {"sessions", list_of(outcome.sessions)},
            {"verdicts", outcome.verdicts},
            {"images", outcome.images},
            {"without_verdict", outcome.without_verdict},
            {"states", outcome.states},
            {"confirmed", outcome.confirmed},
            {"disagreed", outcome.disagreed},
            {"masked_images", outcome.masked},
            {"infra_errors", infra},
            {"baseline",
             {{"images", outcome.healthy_images},
              {"missing", or_null(outcome.healthy_missing)},
              {"objections", healthy}}}};
}

json list_json(const std::vector<findings::Finding> &findings, const TestOutcome &outcome)
{
    json list = json::array();
    for (const findings::Finding &finding : findings)
        list.push_back(to_json(finding));
    return {{"test", to_json(outcome)}, {"findings", list}};
}

json to_json(const RunReport &report)
{
    json quality = json::array();
    for (const QualityCounter &each : report.quality)
        quality.push_back({{"name", each.name},
                           {"value", each.value},
                           {"severity", each.severity},
                           {"meaning", each.meaning}});
    json count = json::object();
    const auto counts = counts_of(report);
    for (const findings::Severity severity : findings::kSeverities)
        count[std::string(name_of(severity))] = counts[static_cast<unsigned>(severity)];
    return {
        {"format", "fencepost report 1"},
        {"name", report.name},
        {"version", report.version},
        {"headline", headline(report)},
        {"not_a_pass", or_null(why_no_pass(report))},
        {"caveats", caveats(report)},
        {"count", count},
        {"recording",
         {{"state", report.recording_state},
          {"outcome", report.outcome},
          {"events", report.events},
          {"kinds", report.event_kinds}}},
        {"meta", json(std::map<std::string, std::string>(report.meta.begin(), report.meta.end()))},
        {"spec", report.spec},
        {"promise", report.promise.empty()
                        ? json()
                        : json({{"name", report.promise}, {"source", report.promise_source}})},
        {"rules",
         {{"rules", report.rules.rules},
          {"statements", report.rules.statements},
          {"suppressed", report.rules.suppressed},
          {"known_code", report.rules.known_code}}},
        {"findings", list_of(report.findings)},
        {"test", to_json(report.test)},
        {"coverage", coverage_of(report)},
        {"operations", list_of(report.operations)},
        {"quality", quality}};
}

} // namespace fencepost::report
