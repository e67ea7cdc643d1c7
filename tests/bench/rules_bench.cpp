// SPDX-License-Identifier: GPL-2.0-or-later
// What the rules cost: all of them, each of them, memory by length, and beside them bookkeeping in
// a balanced tree as pmemcheck does it. rules_bench [--smoke | EVENTS_IN_MILLIONS…]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include "analyzer/rules/engine.h"
#include "base/files.h"
#include "tests/states/pm_work.h"
#include "trace/amendment.h"

namespace fencepost {
namespace {

using trace::Event;
using trace::EventKind;
using trace::PmWork;

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t anonymous_mib()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:"))
            return std::stoul(line.substr(8)) >> 10;
    return 0;
}

struct Measured {
    double seconds = 0;
    std::size_t findings = 0;
    std::size_t rules = 0;
};

Measured run_rules(const trace::TraceReader &reader, const rules::Settings &settings)
{
    const double start = cpu_seconds();
    const findings::Report report =
        rules::Engine(reader, settings, rules::built_in_transaction_tables()).run();
    return {cpu_seconds() - start, report.findings.size(), report.summary.rules.size()};
}

double read_only(const trace::TraceReader &reader)
{
    const double start = cpu_seconds();
    std::uint64_t sum = 0;
    trace::EventScan scan = reader.scan({.with_values = false});
    scan.for_each([&](std::uint64_t seq, const Event &event, auto) { sum += seq ^ event.address; });
    volatile std::uint64_t used = sum;
    (void)used;
    return cpu_seconds() - start;
}

// Every store a node of a balanced tree, found again by a flush, looked at by every fence: what
// pmemcheck keeps, for missing flushes and fences, overwrites and redundant flushes. Findings are
// one for each site and stack here too.
class TreeBookkeeping {
public:
    void event(std::uint64_t seq, const Event &event)
    {
        if (event.is_store())
            store(seq, event);
        else if (event.kind == EventKind::flush && event.has_address())
            flush(event);
        else if (event.kind == EventKind::fence && event.subkind < 2)
            fence();
    }
    std::size_t finish()
    {
        for (const auto &row : stores_)
            report(row.second.flushed ? 1 : 0, row.second.site, row.second.stack);
        return findings_.size();
    }

private:
    struct Node {
        std::uint64_t end;
        std::uint64_t seq;
        trace::SiteId site;
        trace::StackId stack;
        bool flushed;
    };
    using Tree = std::map<std::uint64_t, Node>;

    void report(int rule, trace::SiteId site, trace::StackId stack)
    {
        findings_.emplace(rule, site, stack);
    }

    Tree::iterator first_at_or_over(std::uint64_t address)
    {
        auto at = stores_.upper_bound(address);
        if (at != stores_.begin() && std::prev(at)->second.end > address)
            --at;
        return at;
    }

    void store(std::uint64_t seq, const Event &event)
    {
        const std::uint64_t end = event.address + event.size;
        for (auto at = first_at_or_over(event.address); at != stores_.end() && at->first < end;) {
            const Node old = at->second;
            const std::uint64_t start = at->first;
            at = stores_.erase(at);
            if (start < event.address) {
                Node head = old;
                head.end = event.address;
                stores_.emplace(start, head);
            }
            if (old.end > end)
                at = stores_.emplace(end, old).first;
        }
        stores_.emplace(event.address,
                        Node{end, seq, event.site, event.stack, event.kind == EventKind::nt_store});
    }

    void flush(const Event &event)
    {
        const std::uint64_t start = event.first_line() * trace::kLineBytes;
        bool useful = false;
        for (auto at = first_at_or_over(start);
             at != stores_.end() && at->first < start + trace::kLineBytes; ++at) {
            useful |= !at->second.flushed;
            at->second.flushed = true;
        }
        if (!useful)
            report(2, event.site, event.stack);
    }

    void fence()
    {
        for (auto at = stores_.begin(); at != stores_.end();)
            at = at->second.flushed ? stores_.erase(at) : std::next(at);
    }

    Tree stores_;
    std::set<std::tuple<int, trace::SiteId, trace::StackId>> findings_;
};

Measured run_tree(const trace::TraceReader &reader)
{
    const double start = cpu_seconds();
    TreeBookkeeping tree;
    trace::EventScan scan = reader.scan({.with_values = false});
    scan.for_each([&](std::uint64_t seq, const Event &event, auto) { tree.event(seq, event); });
    const std::size_t found = tree.finish();
    return {cpu_seconds() - start, found, 4};
}

void print(const char *what, double events, const Measured &measured, double base)
{
    std::printf("%-24s %6.2f s  %6.1f M events/s  %5.1f ns an event beyond reading  %zu findings\n",
                what, measured.seconds, events / measured.seconds / 1e6,
                (measured.seconds - base) / events * 1e9, measured.findings);
    std::fflush(stdout);
}

void measure(const char *name, trace::PmWorkShape shape, std::uint64_t count,
             const std::filesystem::path &path, bool each)
{
    PmWork(shape).write(path, count);
    const trace::TraceReader reader(path);
    const auto events = static_cast<double>(reader.event_count());
    std::printf("-- %s: %.1f M events, %u data pages at most, %u vCPUs\n", name, events / 1e6,
                shape.data_pages, shape.vcpus);
    read_only(reader); // brings the file in
    const double reading = read_only(reader);
    print("reading", events, {reading, 0, 0}, reading);
    const Measured all = run_rules(reader, {});
    print("all rules, epoch", events, all, reading);
    rules::Settings strict;
    strict.persistency = rules::Persistency::strict;
    print("all rules, strict", events, run_rules(reader, strict), reading);
    rules::Settings eadr;
    eadr.model = model::ModelKind::eadr;
    print("all rules, eadr", events, run_rules(reader, eadr), reading);
    rules::Settings operations;
    operations.durable_operations = true;
    print("durable operations", events, run_rules(reader, operations), reading);
    const Measured tree = run_tree(reader);
    print("tree, 4 checks", events, tree, reading);
    std::printf("%-24s all rules %.1f M events/s (budget ≥ 10: %s), %.1f× as fast as the tree "
                "(budget ≥ 3×: %s)\n",
                "budget", events / all.seconds / 1e6,
                events / all.seconds >= 1e7 ? "met" : "NOT met", tree.seconds / all.seconds,
                tree.seconds / all.seconds >= 3 ? "met" : "NOT met");
    if (!each)
        return;
    rules::Settings none;
    none.rules = {"unordered"}; // without an order file it does not run: what is left is the engine
    const Measured engine = run_rules(reader, none);
    print("engine without rules", events, engine, reading);
    for (const rules::RuleInfo *rule : rules::all_rules()) {
        rules::Settings one = strict;
        one.rules = {std::string(rule->name)};
        if (rule->name == "redundant-epoch-fence")
            one.persistency = rules::Persistency::epoch;
        const Measured measured = run_rules(reader, one);
        if (measured.rules != 0)
            std::printf("  %-22s %5.2f ns an event beyond the engine\n",
                        std::string(rule->name).c_str(),
                        (measured.seconds - engine.seconds) / events * 1e9);
    }
}

// A third of the operations are made commits of jbd2, so that every event is looked at for
// transactions.
void measure_transactions(const std::filesystem::path &path)
{
    {
        trace::TraceAmendment amendment(path);
        amendment.put_symbol({.id = 1,
                              .name = "jbd2_journal_commit_transaction",
                              .module = "kernel",
                              .address = 1,
                              .size = 1});
        amendment.locate_stack_frame(3, {.symbol = 1});
        amendment.commit();
    }
    const trace::TraceReader reader(path);
    const auto events = static_cast<double>(reader.event_count());
    print("with transactions", events, run_rules(reader, {}), read_only(reader));
}

// What is held at the end of a run over little PM, which must not depend on the length.
void measure_memory(const std::filesystem::path &path, std::uint64_t count)
{
    PmWork({.pm_bytes = 16 << 20, .forgetful = true, .vcpus = 2}).write(path, count);
    const trace::TraceReader reader(path);
    rules::Engine engine(reader, {});
    engine.run();
    std::printf("memory, 16 MiB of PM     %6.1f M events: the process holds %zu MiB\n",
                static_cast<double>(reader.event_count()) / 1e6, anonymous_mib());
    std::fflush(stdout);
}

void run(const std::vector<std::string_view> &arguments)
{
    const TemporaryDirectory directory(std::filesystem::temp_directory_path(), "rules_bench");
    const auto path = directory.path() / "trace.db";
    std::vector<std::uint64_t> counts;
    for (const std::string_view argument : arguments)
        counts.push_back(argument == "--smoke"
                             ? 500'000
                             : std::strtoull(argument.data(), nullptr, 10) * 1'000'000);
    if (counts.empty())
        counts = {20'000'000};
    for (const std::uint64_t count : counts) {
        for (const std::uint64_t part : {count / 20, count})
            measure_memory(path, part);
        measure("library", {.data_pages = 1, .forgetful = true, .mixed_lines = true, .vcpus = 2},
                count, path, true);
        measure_transactions(path);
        measure("file system", {.data_pages = 14}, count, path, false);
    }
}

} // namespace
} // namespace fencepost

int main(int argc, char **argv)
{
    fencepost::run({argv + 1, argv + argc});
    return 0;
}
