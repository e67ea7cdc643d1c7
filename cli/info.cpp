// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost info`: what was recorded, at a glance.
#include "cli/verb.h"

#include <algorithm>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/terminal_text.h"
#include "replayer/run/info_json.h"
#include "replayer/run/interrupted.h"
#include "replayer/run/run_directory.h"
#include "trace/schema.h"
#include "trace/summary.h"

namespace fencepost::cli {

namespace {

using namespace trace;

// --- for people

template <typename... Args>
void line(const char *name, fmt::format_string<Args...> format, Args &&...args)
{
    fmt::print("{:<13} {}\n", name, fmt::format(format, std::forward<Args>(args)...));
}

std::string grouped(std::uint64_t number)
{
    return number < 1000 ? std::to_string(number)
                         : fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string size_text(std::uint64_t bytes)
{
    const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    double size = static_cast<double>(bytes);
    for (; size >= 1024 && unit < 3; ++unit)
        size /= 1024;
    return unit == 0 || bytes % (1ull << 10 * unit) == 0
               ? fmt::format("{:.0f} {}", size, units[unit])
               : fmt::format("{:.1f} {}", size, units[unit]);
}

void print_events(const Summary &summary)
{
    line("events", "{} by {} vCPU{}", grouped(summary.recording.event_count), summary.vcpus,
         summary.vcpus == 1 ? "" : "s");
    for (unsigned number = 0; number < kEventKinds; ++number) {
        const auto kind = summary.events.find(std::string(name_of(static_cast<EventKind>(number))));
        if (kind == summary.events.end())
            continue;
        std::uint64_t total = 0;
        std::string detail;
        for (const auto &subkind : kind->second) {
            total += subkind.second;
            detail += fmt::format("{}{} {}", detail.empty() ? "" : ", ", subkind.first,
                                  grouped(subkind.second));
        }
        const bool plain = kind->second.size() == 1 && kind->second.contains("plain");
        fmt::print("  {:<11} {:>13}{}\n", kind->first, grouped(total),
                   plain ? "" : fmt::format("  ({})", detail));
    }
    line("stored", "{}", size_text(summary.stored_bytes));
    line("intervals", "{} between sfences and mfences, {} if locked instructions count too",
         grouped(summary.fence_intervals), grouped(summary.architectural_fence_intervals));
}

void print_operations(const Summary &summary)
{
    line("operations", "{}{}; {} system calls of {} processes", grouped(summary.operations),
         summary.unfinished_operations
             ? fmt::format(" ({} did not end)", grouped(summary.unfinished_operations))
             : "",
         grouped(summary.system_calls), grouped(summary.processes));
    for (const OperationSummary &row : summary.first_operations)
        fmt::print("  {:<11} seq {} to {}: {}\n", row.number, row.first_seq,
                   row.last_seq ? std::to_string(*row.last_seq) : "the end",
                   terminal_text(row.text));
    if (summary.operations > summary.first_operations.size())
        fmt::print("  …\n");
}

void print_functions(const char *title, const std::vector<FunctionCount> &functions)
{
    if (functions.empty())
        return;
    fmt::print("\n{}\n{:>13} {:>13} {:>13}  function\n", title, "stores", "flushes", "fences");
    for (const FunctionCount &row : functions)
        fmt::print("{:>13} {:>13} {:>13}  {}{}{}\n", grouped(row.stores), grouped(row.flushes),
                   grouped(row.fences), terminal_text(row.function),
                   row.module.empty() ? "" : fmt::format(" [{}]", terminal_text(row.module)),
                   row.volatile_flushes ? fmt::format("  ({} flushes of memory that is not PM)",
                                                      grouped(row.volatile_flushes))
                                        : "");
}

void print_quality(const Summary &summary)
{
    std::uint64_t clean = 0;
    fmt::print("\n");
    for (const DataQuality &counter : summary.quality) {
        if (counter.value == 0) {
            ++clean;
            continue;
        }
        line(std::string(name_of(counter.severity)).c_str(), "{} = {}: {}",
             terminal_text(counter.name), counter.value, terminal_text(counter.meaning));
    }
    if (summary.quality.empty())
        line("quality", "no counters");
    else
        line("quality", "{} of {} counters are 0", clean, summary.quality.size());
}

void print_text(const Summary &summary, bool interrupted)
{
    const Recording &recording = summary.recording;
    if (interrupted)
        line("recording", "interrupted: its recorder ended in the middle; what is here is valid");
    else
        line("recording", "{}{}", name_of(recording.state),
             recording.outcome.empty() ? ""
                                       : fmt::format(": {}", terminal_text(recording.outcome)));
    line("completeness", "{}", summary.completeness());
    for (const auto &row : summary.meta) {
        const auto lines = std::ranges::count(row.second, '\n');
        if (lines > 0)
            line(terminal_text(row.first).c_str(), "{} lines", lines);
        else
            line(terminal_text(row.first).c_str(), "{}", terminal_text(row.second));
    }
    for (const Region &region : summary.regions)
        line("region", "{} at 0x{:x}, {}{}", terminal_text(region.name), region.base,
             size_text(region.size), region.initial_digest ? "" : ", no initial image");
    print_events(summary);
    print_operations(summary);
    line("sites", "{}, {} with a function, {} with file and line; {} stacks",
         grouped(summary.sites), grouped(summary.named_sites), grouped(summary.located_sites),
         grouped(summary.stacks));
    line("file", "{}, {:.2f} bytes an event, format {}", size_text(summary.file_bytes),
         summary.bytes_per_event(), kFormatVersion);
    line("event_digest", "{}", terminal_text(recording.event_digest));
    line("effect_digest", "{}", terminal_text(recording.effect_digest));
    print_functions("Most stores", summary.most_stores);
    print_functions("Most flushes", summary.most_flushes);
    print_quality(summary);
}

} // namespace

void add_info(App &app, Context &context)
{
    App *verb = app.add_subcommand("info", "Says what a run recorded, at a glance");
    auto run = std::make_shared<std::string>();
    auto limit = std::make_shared<std::size_t>(10);
    verb->add_option("RUN", *run, "Run directory, or the trace in one")->required();
    verb->add_option("--top", *limit, "How many functions and operations are listed")
        ->range(0u, 1000000u)
        ->capture_default_str();
    verb->examples({{"info run --top 30", "what ran, and its thirty busiest functions"}});
    verb->callback([run, limit, &context] {
        const TraceReader reader(run::trace_of(*run));
        if (context.settings.json)
            print_json(run::info_json(reader, *limit));
        else
            print_text(summarise(reader, *limit), run::was_interrupted(reader));
    });
}

} // namespace fencepost::cli
