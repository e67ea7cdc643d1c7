// SPDX-License-Identifier: GPL-2.0-or-later
// See info_json.h.
#include "replayer/run/info_json.h"

#include <nlohmann/json.hpp>

#include "replayer/run/interrupted.h"
#include "trace/schema.h"
#include "trace/summary.h"

namespace fencepost::run {

using namespace trace;
using nlohmann::json;

namespace {

json functions_to_json(const std::vector<FunctionCount> &functions)
{
    json list = json::array();
    for (const FunctionCount &row : functions)
        list.push_back({{"function", row.function},
                        {"module", row.module},
                        {"stores", row.stores},
                        {"flushes", row.flushes},
                        {"fences", row.fences},
                        {"volatile_flushes", row.volatile_flushes}});
    return list;
}

json regions_to_json(const Summary &summary)
{
    json list = json::array();
    for (const Region &region : summary.regions) {
        json row = {{"name", region.name}, {"base", region.base},       {"size", region.size},
                    {"file", region.file}, {"initial_digest", nullptr}, {"final_digest", nullptr}};
        if (region.initial_digest)
            row["initial_digest"] = *region.initial_digest;
        if (region.final_digest)
            row["final_digest"] = *region.final_digest;
        list.push_back(std::move(row));
    }
    return list;
}

json operations_to_json(const Summary &summary)
{
    json list = json::array();
    for (const OperationSummary &row : summary.first_operations) {
        json operation = {{"number", row.number},
                          {"text", row.text},
                          {"first_seq", row.first_seq},
                          {"last_seq", nullptr}};
        if (row.last_seq)
            operation["last_seq"] = *row.last_seq;
        list.push_back(std::move(operation));
    }
    return {{"count", summary.operations},
            {"unfinished", summary.unfinished_operations},
            {"first", std::move(list)}};
}

} // namespace

json info_json(const TraceReader &reader, std::size_t limit)
{
    const Summary summary = summarise(reader, limit);
    json quality = json::array();
    for (const DataQuality &counter : summary.quality)
        quality.push_back({{"name", counter.name},
                           {"value", counter.value},
                           {"severity", name_of(counter.severity)},
                           {"meaning", counter.meaning}});
    json events = json::object();
    for (const auto &kind : summary.events)
        events[kind.first] = kind.second;
    return {{"state", name_of(summary.recording.state)},
            {"interrupted", was_interrupted(reader)},
            {"outcome", summary.recording.outcome},
            {"completeness", summary.completeness()},
            {"event_count", summary.recording.event_count},
            {"event_digest", summary.recording.event_digest},
            {"effect_digest", summary.recording.effect_digest},
            {"events", std::move(events)},
            {"stored_bytes", summary.stored_bytes},
            {"vcpus", summary.vcpus},
            {"fence_intervals", summary.fence_intervals},
            {"architectural_fence_intervals", summary.architectural_fence_intervals},
            {"regions", regions_to_json(summary)},
            {"operations", operations_to_json(summary)},
            {"system_calls", summary.system_calls},
            {"processes", summary.processes},
            {"sites", summary.sites},
            {"named_sites", summary.named_sites},
            {"located_sites", summary.located_sites},
            {"symbols", summary.symbols},
            {"stacks", summary.stacks},
            {"most_stores", functions_to_json(summary.most_stores)},
            {"most_flushes", functions_to_json(summary.most_flushes)},
            {"data_quality", std::move(quality)},
            {"file_bytes", summary.file_bytes},
            {"bytes_per_event", summary.bytes_per_event()},
            {"format_version", kFormatVersion},
            {"meta", summary.meta}};
}

} // namespace fencepost::run
