// SPDX-License-Identifier: GPL-2.0-or-later
// See test_json.h.
#include "replayer/test/test_json.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "replayer/oracle/tree_evidence.h"

namespace fencepost::test {

using nlohmann::json;

namespace {

json promise_json(const TestReport &report)
{
    if (!report.promise)
        return nullptr;
    json fields = json::object();
    for (const run::PromiseField &field : run::promise_fields())
        fields[field.name] = field_value(report.promise->promise, field.name);
    return {{"name", report.promise->name}, {"source", report.promise->source}, {"fields", fields}};
}

json baseline_json(const TestReport &report)
{
    json objections = json::array();
    for (const Objection &each : report.baseline.objections)
        objections.push_back({{"image", each.image},
                              {"oracle", each.evidence.oracle},
                              {"verdict", to_string(each.evidence.verdict)},
                              {"summary", each.evidence.summary},
                              {"masked", each.masked()},
                              {"ends_trust", each.ends_trust()},
                              {"details", each.evidence.details}});
    return {{"images", report.baseline.images},
            {"missing", report.baseline.missing},
            {"objections", objections},
            {"left_out", report.baseline.left_out()},
            {"masked_images", report.masked}};
}

json evidence_json(const oracle::Judgement &judgement)
{
    json all = json::array();
    for (const oracle::Evidence &each : judgement.evidence)
        all.push_back({{"oracle", each.oracle},
                       {"verdict", to_string(each.verdict)},
                       {"title", title_of(each)},
                       {"summary", each.summary},
                       {"details", each.details}});
    return all;
}

} // namespace

json report_json(const TestReport &report)
{
    json findings = json::array();
    for (const findings::Finding &finding : report.findings)
        findings.push_back(report::to_json(finding));
    json infra = json::array();
    for (const auto &[reason, images] : report.infra_reasons)
        infra.push_back({{"reason", reason}, {"images", images}});
    return {{"tested", report.tested},
            {"verdicts", report.verdicts},
            {"not_tried", report.not_tried},
            {"stop", to_string(report.stop)},
            {"promise", promise_json(report)},
            {"confirmed", report.confirmed},
            {"known", report.known},
            {"started_anew", report.started_anew},
            {"generated", report.walk.generated},
            {"promise_points", report.walk.promise_points},
            {"incidental_fences", report.walk.incidental_fences},
            {"seconds", report.seconds},
            {"judge_seconds", report.judge_seconds},
            {"guest_seconds", report.guest_seconds},
            {"oracle_seconds", report.oracle_seconds},
            {"restore_seconds", report.restore_seconds},
            {"patch_seconds", report.patch_seconds},
            {"probes", report.probes},
            {"probe_seconds", report.probe_seconds},
            {"minimize_tests", report.minimize_tests},
            {"minimize_seconds", report.minimize_seconds},
            {"minimal", report.minimal},
            {"workers",
             {{"restores", report.workers.restores},
              {"lost_guests", report.workers.lost_guests},
              {"discarded_guests", report.workers.discarded_guests},
              {"audits", report.workers.audits},
              {"failed_audits", report.workers.failed_audits},
              {"pages_compared", report.workers.pm.pages_compared},
              {"pages_written", report.workers.pm.pages_written},
              {"full_compares", report.workers.pm.full_compares}}},
            {"all",
             {{"verdicts", report.all_verdicts},
              {"disagreements", report.disagreements},
              {"states", report.states}}},
            {"baseline", baseline_json(report)},
            {"infra_errors", infra},
            {"findings", findings}};
}

std::string outcome_words(const Reproduction &result, const NamedState &named)
{
    const std::size_t times = result.attempts.size();
    if (named.finding && result.as_found() != 0)
        return fmt::format("fails again, {} of {}", result.as_found(), times);
    if (result.failed() != 0)
        return fmt::format("fails{}, {} of {}",
                           named.finding ? " in another way than the finding says" : "",
                           result.failed(), times);
    if (result.exit_code() == 0)
        return fmt::format("did not fail this time ({} of {} passed)", times, times);
    return "could not be judged";
}

json reproduction_json(const Reproduction &result, const NamedState &named)
{
    json attempts = json::array();
    for (const Attempt &each : result.attempts)
        attempts.push_back({{"verdict", to_string(each.judgement.verdict)},
                            {"as_found", each.as_found},
                            {"evidence", evidence_json(each.judgement)}});
    const oracle::Judgement &shown = result.shown().judgement;
    return {{"finding", named.finding ? json(named.finding->id) : json()},
            {"state", named.request.state},
            {"times", result.attempts.size()},
            {"failed", result.failed()},
            {"as_found", result.as_found()},
            {"outcome", outcome_words(result, named)},
            {"attempts", attempts},
            {"verdict", to_string(shown.verdict)},
            {"not_tried", shown.not_tried},
            {"kernel_log", shown.kernel_log},
            {"tree", shown.tree ? oracle::tree_json(*shown.tree) : json()}};
}

json shortened_json(const std::string &finding, const ShortenedWorkload &found)
{
    return {{"finding", finding},
            {"lines", found.workload.lines},
            {"complete", found.workload.complete},
            {"operations_before", found.operations_before},
            {"operations", found.operations},
            {"recordings", found.recordings},
            {"seconds", found.seconds}};
}

} // namespace fencepost::test
