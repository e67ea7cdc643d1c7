// SPDX-License-Identifier: GPL-2.0-or-later
// Measures the trace file against its budgets: trace_bench [--smoke | EVENTS_IN_MILLIONS…]
// For other benchmarks: trace_bench --write FILE EVENTS_IN_MILLIONS
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include "base/deadline.h"
#include "base/files.h"
#include "file_system_events.h"
#include "trace/amendment.h"
#include "trace/reader.h"
#include "trace/summary.h"
#include "trace/writer.h"

namespace fencepost::trace {
namespace {

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t peak_mib()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            return std::stoul(line.substr(6)) >> 10;
    return 0;
}

constexpr SiteId kSites = 1000;
constexpr SiteId kSitesOfAFunction = 8;

void name_functions(const std::filesystem::path &path)
{
    TraceAmendment amendment(path);
    for (SiteId first = 1; first <= kSites; first += kSitesOfAFunction)
        amendment.put_symbol({.id = first,
                              .name = "function_" + std::to_string(first),
                              .module = "kernel",
                              .address = 0x1000 + first * 4,
                              .size = kSitesOfAFunction * 4});
    for (SiteId site = 1; site <= kSites; ++site)
        amendment.locate_site(site, {.symbol = site - (site - 1) % kSitesOfAFunction});
    amendment.commit();
}

double write_trace(const std::filesystem::path &path, std::uint64_t events, FileData data)
{
    // The same few megabytes over and over would flatter the compressor: fresh events throughout,
    // and only the writer is timed.
    FileSystemEvents source(data);
    EventBuffer buffer(1 << 16);
    TraceWriter writer = TraceWriter::create(path);
    double seconds = 0;
    while (writer.event_count() < events) {
        buffer.clear();
        while (buffer.size() + 700 < (1 << 16))
            source.add_operation(buffer);
        const double start = cpu_seconds();
        writer.append(buffer);
        seconds += cpu_seconds() - start;
    }
    const double start = cpu_seconds();
    for (SiteId site = 1; site <= kSites; ++site)
        writer.put_site({.id = site, .pc = 0x1000 + site * 4, .module = "kernel"});
    writer.finish(RecordingState::complete, "");
    seconds += cpu_seconds() - start;
    name_functions(path);
    return seconds;
}

double scan_trace(const TraceReader &reader, const EventFilter &filter)
{
    const double start = cpu_seconds();
    std::uint64_t sum = 0;
    EventScan scan = reader.scan(filter);
    scan.for_each([&](std::uint64_t seq, const Event &event, auto) {
        sum += seq ^ event.address ^ event.value;
    });
    volatile std::uint64_t used = sum;
    (void)used;
    return cpu_seconds() - start;
}

double query(const TraceReader &reader, const std::string &sql)
{
    const Stopwatch watch;
    Statement statement(reader.connection(), sql);
    while (statement.step()) {
    }
    return watch.seconds() * 1000;
}

void measure(std::uint64_t millions)
{
    const TemporaryDirectory directory(std::filesystem::temp_directory_path(), "trace_bench");
    const auto path = directory.path() / "trace.db";
    const double writing = write_trace(path, millions * 1'000'000, FileData::text);
    const std::size_t writer_peak = peak_mib();
    const TraceReader reader(path);
    const auto events = static_cast<double>(reader.event_count());
    const double reading = scan_trace(reader, {});
    const double without_values = scan_trace(reader, {.with_values = false});
    std::printf(
        "%6.1f M events  writer %6.2f M/s  reader %6.1f M/s  without values %6.1f M/s  %5.2f "
        "bytes/event"
        "  peak memory %zu MiB writing, %zu MiB after reading\n",
        events / 1e6, events / writing / 1e6, events / reading / 1e6, events / without_values / 1e6,
        static_cast<double>(std::filesystem::file_size(path)) / events, writer_peak, peak_mib());
    if (millions < 10)
        return;
    const auto middle = reader.event_count() / 2;
    std::uint64_t line = 0;
    EventScan one = reader.scan({.first_seq = middle, .kinds = kind_bit(EventKind::nt_store)});
    if (one.next())
        line = one.events()[one.all_selected() ? 0 : one.selected()[0]].first_line();
    const std::pair<const char *, std::string> queries[] = {
        {"one seq", "SELECT kind, number FROM event WHERE seq = " + std::to_string(middle)},
        {"one line of file data",
         "SELECT kind, number FROM event WHERE line = " + std::to_string(line)},
        {"an untouched line", "SELECT kind, number FROM event WHERE line = " +
                                  std::to_string(FileSystemEvents::kBase / 64 + 2'000'000)},
        {"fences of one site", "SELECT count(*) FROM event WHERE kind = 'fence' AND site = 900"},
        {"stores per interval",
         "SELECT interval, function, stores + nt_stores FROM function_interval"},
        {"rows of interval_site", "SELECT count(*) FROM interval_site"},
        {"the same, architectural", "SELECT count(*) FROM interval_site('architectural')"},
        {"one interval of it", "SELECT * FROM function_interval WHERE interval = 5"},
        {"count(*)", "SELECT count(*) FROM event"},
        {"count by site", "SELECT site, count(*) FROM event GROUP BY site"},
        {"count by site, counters", "SELECT * FROM site_count"},
        {"sum of values", "SELECT total(number) FROM store"},
    };
    for (const auto &row : queries)
        std::printf("    %-26s %9.2f ms\n", row.first, query(reader, row.second));
    const Stopwatch watch;
    const Summary summary = summarise(reader);
    std::printf("    %-26s %9.2f ms  (%llu fence intervals)\n", "fencepost info",
                watch.seconds() * 1000, static_cast<unsigned long long>(summary.fence_intervals));
    std::printf("    peak memory after the queries %zu MiB\n", peak_mib());
}

void measure_incompressible()
{
    const TemporaryDirectory directory(std::filesystem::temp_directory_path(), "trace_bench");
    const auto path = directory.path() / "trace.db";
    const double writing = write_trace(path, 1'000'000, FileData::incompressible);
    std::printf("incompressible file data: writer %.2f M/s, %.2f bytes/event\n", 1 / writing,
                static_cast<double>(std::filesystem::file_size(path)) / 1e6);
}

} // namespace
} // namespace fencepost::trace

int main(int argc, char **argv)
{
    using namespace fencepost::trace;
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "--write") {
        write_trace(arguments[1], std::strtoull(arguments[2].data(), nullptr, 10) * 1'000'000,
                    FileData::text);
        return 0;
    }
    if (arguments.empty())
        for (const std::uint64_t millions : {1, 10, 50})
            measure(millions);
    for (const std::string_view argument : arguments)
        measure(argument == "--smoke" ? 1 : std::strtoull(argument.data(), nullptr, 10));
    measure_incompressible();
    return 0;
}
