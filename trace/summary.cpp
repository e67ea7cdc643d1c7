// SPDX-License-Identifier: GPL-2.0-or-later
// See summary.h.
#include "trace/summary.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "trace/event_scan.h"
#include "trace/fence_rule.h"

namespace fencepost::trace {

namespace {

void count_events(const TraceReader &reader, Summary &summary)
{
    constexpr unsigned kSubkinds = 256;
    std::vector<std::array<std::uint64_t, kSubkinds>> counts(kEventKinds);
    std::vector<bool> vcpus(1 << 16);
    bool open[2] = {}; // an interval has begun that no fence has ended yet
    std::uint64_t *const intervals[2] = {&summary.fence_intervals,
                                         &summary.architectural_fence_intervals};
    EventScan scan = reader.scan({.with_values = false});
    scan.for_each([&](std::uint64_t, const Event &event, auto) {
        ++counts[static_cast<unsigned>(event.kind)][event.subkind];
        vcpus[event.vcpu] = true;
        if (event.kind == EventKind::marker || event.kind == EventKind::load)
            return;
        summary.stored_bytes += event.size;
        for (const FenceRule rule : {FenceRule::explicit_only, FenceRule::architectural}) {
            const auto i = static_cast<unsigned>(rule);
            *intervals[i] += !open[i];
            open[i] = !counts_as_fence(event, rule);
        }
    });
    for (unsigned kind = 0; kind < kEventKinds; ++kind)
        for (unsigned subkind = 0; subkind < kSubkinds; ++subkind)
            if (const std::uint64_t count = counts[kind][subkind])
                summary.events[std::string(name_of(static_cast<EventKind>(kind)))]
                              [std::string(subkind_name(static_cast<EventKind>(kind),
                                                        static_cast<std::uint8_t>(subkind)))] =
                    count;
    for (const bool seen : vcpus)
        summary.vcpus += seen;
}

std::vector<FunctionCount> functions(const TraceReader &reader, const char *order,
                                     std::size_t limit)
{
    std::vector<FunctionCount> most;
    Statement row(reader.connection(),
                  std::string("SELECT function, module, stores + nt_stores AS all_stores, flushes,"
                              " fences, volatile_flushes FROM function_count WHERE ") +
                      order + " > 0 ORDER BY " + order + " DESC, function, module LIMIT ?1");
    row.bind(1, static_cast<std::uint64_t>(limit));
    while (row.step())
        most.push_back({.function = std::string(row.text(0)),
                        .module = std::string(row.text(1)),
                        .stores = row.number(2),
                        .flushes = row.number(3),
                        .fences = row.number(4),
                        .volatile_flushes = row.number(5)});
    return most;
}

std::uint64_t count(const TraceReader &reader, const char *what)
{
    Statement row(reader.connection(), std::string("SELECT count(*) FROM ") + what);
    return row.step() ? row.number(0) : 0;
}

void summarise_operations(const TraceReader &reader, Summary &summary, std::size_t limit)
{
    Statement row(reader.connection(),
                  "SELECT number, text, first_seq, last_seq FROM operation ORDER BY first_seq");
    while (row.step()) {
        ++summary.operations;
        summary.unfinished_operations += row.is_null(3);
        if (summary.first_operations.size() >= limit)
            continue;
        OperationSummary &operation = summary.first_operations.emplace_back();
        operation.number = row.integer(0);
        operation.text = row.text(1);
        operation.first_seq = row.number(2);
        if (!row.is_null(3))
            operation.last_seq = row.number(3);
    }
}

// What record's own check of completeness counts; 0 is the proof that nothing was missed.
constexpr char kCompletenessCounter[] = "incomplete_lines";

} // namespace

std::string_view Summary::completeness() const
{
    const auto counter = std::ranges::find(quality, kCompletenessCounter, &DataQuality::name);
    if (counter == quality.end())
        return "not checked";
    return counter->value == 0 ? "complete" : "incomplete";
}

double Summary::bytes_per_event() const
{
    return recording.event_count
               ? static_cast<double>(file_bytes) / static_cast<double>(recording.event_count)
               : 0;
}

Summary summarise(const TraceReader &reader, std::size_t limit)
{
    Summary summary = {.recording = reader.recording(),
                       .meta = reader.meta(),
                       .regions = reader.regions(),
                       .events = {},
                       .first_operations = {},
                       .most_stores = functions(reader, "all_stores", limit),
                       .most_flushes = functions(reader, "flushes + volatile_flushes", limit),
                       .quality = reader.data_quality()};
    count_events(reader, summary);
    summarise_operations(reader, summary, limit);
    summary.system_calls = count(reader, "marker WHERE kind = 'syscall_enter'");
    summary.processes = count(reader, "marker WHERE kind = 'process_start'");
    summary.sites = count(reader, "site");
    summary.named_sites = count(reader, "site WHERE symbol IS NOT NULL");
    summary.located_sites = count(reader, "site WHERE source_line IS NOT NULL");
    summary.stacks = count(reader, "stack");
    summary.symbols = count(reader, "symbol");
    summary.file_bytes = std::filesystem::file_size(reader.path());
    return summary;
}

} // namespace fencepost::trace
