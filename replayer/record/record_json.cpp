// SPDX-License-Identifier: GPL-2.0-or-later
// See record_json.h.
#include "replayer/record/record_json.h"

#include <nlohmann/json.hpp>

#include "replayer/record/reach.h"

namespace fencepost::record {

nlohmann::json verification_json(const VerifyReport &report)
{
    nlohmann::json repetitions = nlohmann::json::array();
    for (const Repetition &one : report.repetitions)
        repetitions.push_back({{"identical", one.identical()},
                               {"same_events", one.same_events},
                               {"same_effects", one.same_effects},
                               {"same_final_pm", one.same_final_pm},
                               {"events", one.event_count},
                               {"outcome", one.outcome},
                               {"first_difference", one.first_difference}});
    nlohmann::json counters = nlohmann::json::array();
    for (const trace::DataQuality &counter : report.counters)
        counters.push_back({{"name", counter.name},
                            {"value", counter.value},
                            {"severity", trace::name_of(counter.severity)},
                            {"meaning", counter.meaning}});
    return {{"state", trace::name_of(report.recording.state)},
            {"events", report.recording.event_count},
            {"outcome", report.recording.outcome},
            {"completeness", to_string(report.completeness)},
            {"differing_lines", report.differing_lines},
            {"differences", report.differences},
            {"changed", report.changed},
            {"repetitions", repetitions},
            {"deterministic", report.deterministic()},
            {"data_quality", counters},
            {"good", report.good()}};
}

nlohmann::json warnings_json(const run::RunFiles &files)
{
    nlohmann::json list = nlohmann::json::array();
    for (const trace::DataQuality &warning : reach_warnings(trace::TraceReader(files.trace())))
        list.push_back(
            {{"name", warning.name}, {"value", warning.value}, {"meaning", warning.meaning}});
    return list;
}

} // namespace fencepost::record
