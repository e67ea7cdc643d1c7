// SPDX-License-Identifier: GPL-2.0-or-later
// Recorded programs of several mappings, processes and threads: which line a flush is of, what the
// rules say about it, and which call has returned.
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "analyzer/rules/engine.h"
#include "replayer/oracle/progress.h"
#include "tests/guest/recording.h"
#include "trace/reader.h"

namespace fencepost::record {
namespace {

using trace::EventKind;

// What is known when the flag is stored.
enum class Data { in_flight, guaranteed };

constexpr std::uint64_t kNumber = 0xffff;
constexpr std::uint64_t kData = 0x4242424242420000;
constexpr std::uint64_t kFlag = 0x4343434343430000;

// What other_mappings.c did by its numbers: whether the data was guaranteed when the flag was
// stored.
std::map<std::uint64_t, Data> order_of(const trace::TraceReader &reader)
{
    std::map<std::uint64_t, Data> published;
    std::map<std::uint64_t, std::uint64_t> in_flight;    // line -> number
    std::map<unsigned, std::set<std::uint64_t>> flushed; // by vCPU
    for (trace::EventScan scan = reader.scan(); scan.next();)
        for (const trace::Event &event : scan.events()) {
            if (event.kind == EventKind::store && event.size == 8) {
                const std::uint64_t number = event.value & kNumber;
                if ((event.value & ~kNumber) == kData)
                    in_flight[event.first_line()] = number;
                if ((event.value & ~kNumber) == kFlag)
                    published[number] =
                        std::any_of(in_flight.begin(), in_flight.end(),
                                    [&](const auto &line) { return line.second == number; })
                            ? Data::in_flight
                            : Data::guaranteed;
            } else if (event.kind == EventKind::flush && event.has_address()) {
                if (event.flush_kind() == trace::FlushKind::clflush)
                    in_flight.erase(event.first_line());
                else
                    flushed[event.vcpu].insert(event.first_line());
            } else if (event.kind == EventKind::fence &&
                       event.fence_kind() == trace::FenceKind::sfence) {
                for (const std::uint64_t line : flushed[event.vcpu])
                    in_flight.erase(line);
                flushed[event.vcpu].clear();
            }
        }
    return published;
}

// Where system calls are recorded, and where they are not.
struct Way {
    const char *name;
    Data data;
    Data data_without_calls;
    unsigned lost = 0; // flushes
    unsigned lost_without_calls = 0;
};

constexpr Data kSafe = Data::guaranteed;
constexpr Data kOpen = Data::in_flight;

// Of opened_again, by_program and by_killed nobody can know which file it is; the last two flush
// something else than they have stored.
constexpr Way kWays[] = {
    {"untouched", kSafe, kOpen, 0, 1},    {"read_later", kSafe, kSafe},
    {"unmapped_elsewhere", kSafe, kSafe}, {"read_by_kernel", kSafe, kSafe},
    {"by_child", kSafe, kOpen, 0, 1},     {"published_by_child", kSafe, kOpen, 0, 1},
    {"by_sibling", kSafe, kOpen, 0, 1},   {"moved", kSafe, kOpen, 0, 1},
    {"by_threads", kSafe, kOpen, 0, 8},   {"opened_again", kOpen, kOpen, 1, 1},
    {"by_program", kOpen, kOpen, 1, 1},   {"by_killed", kOpen, kOpen, 1, 1},
    {"replaced", kOpen, kOpen, 1, 1},     {"of_another_file", kOpen, kOpen, 1, 1},
};

std::int64_t lost_flushes(const trace::TraceReader &reader)
{
    for (const trace::DataQuality &counter : reader.data_quality())
        if (counter.name == trace::kLostFlushes)
            return counter.value;
    return -1;
}

// A spec with a program of the host in the guest.
std::string with_program(const RecordingPlace &place, const char *program)
{
    std::filesystem::copy_file(program, place.path() / "program");
    return "[file_system]\ntype = \"ext4\"\n"
           "[[copy]]\nfrom = \"program\"\nto = \"/usr/local/bin/program\"\n";
}

std::string script_of(std::span<const Way> ways, bool system_calls)
{
    std::string script;
    for (std::size_t i = 0; i < ways.size(); ++i)
        script += fmt::format("program /mnt/pm/f{0} {0} {1} || exit 1\n", i, ways[i].name);
    return fmt::format(
        "[workload]\nkind = \"script\"\nsystem_calls = {}\ntext = \"\"\"\n{}\"\"\"\n", system_calls,
        script);
}

class OtherMappings : public testing::TestWithParam<bool> {};

TEST_P(OtherMappings, FlushTheLineThatTheyMap)
{
    RecordingPlace place;
    const RecordResult result =
        place.record(with_program(place, FENCEPOST_OTHER_MAPPINGS) + script_of(kWays, GetParam()));
    ASSERT_EQ(result.outcome, "finished: exit status 0");
    EXPECT_TRUE(result.complete());
    const trace::TraceReader reader(place.trace());
    const std::map<std::uint64_t, Data> order = order_of(reader);
    ASSERT_EQ(order.size(), std::size(kWays));
    std::int64_t lost = 0;
    for (std::size_t i = 0; i < std::size(kWays); ++i) {
        EXPECT_EQ(order.at(i), GetParam() ? kWays[i].data : kWays[i].data_without_calls)
            << kWays[i].name;
        lost += GetParam() ? kWays[i].lost : kWays[i].lost_without_calls;
    }
    EXPECT_EQ(lost_flushes(reader), lost);
    std::int64_t told = 0;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == trace::MarkerKind::note && row.marker.text == trace::kLostFlushesNote)
            told += row.marker.number;
    });
    EXPECT_EQ(told, lost_flushes(reader));
}

INSTANTIATE_TEST_SUITE_P(SystemCalls, OtherMappings, testing::Bool(), [](const auto &given) {
    return std::string(given.param ? "recorded" : "not_recorded");
});

TEST(OtherMappingsRules, AreSilentAboutCorrectPrograms)
{
    std::vector<Way> correct;
    for (const Way &way : kWays)
        if (way.data == Data::guaranteed)
            correct.push_back(way);
    RecordingPlace place;
    const RecordResult result =
        place.record(with_program(place, FENCEPOST_OTHER_MAPPINGS) + script_of(correct, true));
    ASSERT_EQ(result.outcome, "finished: exit status 0");
    const trace::TraceReader reader(place.trace());
    EXPECT_EQ(order_of(reader).size(), correct.size());
    EXPECT_EQ(lost_flushes(reader), 0);
    const findings::Report report = rules::Engine(reader, {}).run();
    for (const findings::Finding &finding : report.findings)
        EXPECT_FALSE(finding.places[0].at.code.module.ends_with("/program"))
            << finding.rule << ": " << finding.title;
}

TEST(Threads, InTheSameCallAreKeptApart)
{
    RecordingPlace place;
    const RecordResult result =
        place.record(with_program(place, FENCEPOST_BLOCKED_THREADS) +
                     "[workload]\nkind = \"program\"\ncommand = [\"program\"]\n");
    ASSERT_EQ(result.outcome, "finished: exit status 0");
    const trace::TraceReader reader(place.trace());
    const oracle::ProgressTable table(reader);
    std::map<std::int64_t, oracle::Progress> at; // by checkpoint
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == trace::MarkerKind::checkpoint)
            at[row.marker.number] = table.at(row.seq + 1);
    });
    const auto numbers = [](const oracle::Progress &progress) {
        std::vector<std::int64_t> list;
        for (const oracle::ProgressStep &step : progress.in_progress) {
            EXPECT_EQ(step.text, "write");
            list.push_back(step.number);
        }
        return list;
    };
    const std::vector<std::int64_t> both = numbers(at[1]);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_LT(both[0], both[1]);
    ASSERT_TRUE(at[2].returned && at[3].returned);
    EXPECT_EQ(at[2].returned->number, both[0]);
    EXPECT_EQ(numbers(at[2]), std::vector{both[1]});
    EXPECT_EQ(at[3].returned->number, both[1]);
    EXPECT_EQ(numbers(at[3]), std::vector<std::int64_t>{});
}

} // namespace
} // namespace fencepost::record
