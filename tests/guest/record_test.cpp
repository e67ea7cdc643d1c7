// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings of file systems and of a libpmemobj program: complete, the same twice, and honest
// about workloads that fail, hang or take the guest down.
#include <map>

#include <gtest/gtest.h>

#include "replayer/record/reach.h"
#include "tests/guest/recording.h"
#include "trace/reader.h"

namespace fencepost::record {
namespace {

using run::WorkloadEnd;
using trace::MarkerKind;
using trace::TraceReader;

std::map<MarkerKind, int> marker_counts(const TraceReader &reader)
{
    std::map<MarkerKind, int> counts;
    reader.for_each_marker([&](const trace::MarkerRow &row) { ++counts[row.kind]; });
    return counts;
}

std::vector<std::string> operations(const TraceReader &reader)
{
    std::vector<std::string> texts;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == MarkerKind::op_begin)
            texts.push_back(row.marker.text);
    });
    return texts;
}

struct InstructionCount {
    trace::EventKind kind;
    std::string_view name;
    trace::Privilege privilege;
};

std::size_t count_of(const TraceReader &reader, const InstructionCount &wanted)
{
    std::map<trace::SiteId, trace::Privilege> privileges;
    for (const trace::SiteRow &row : reader.sites())
        privileges[row.site.id] = row.site.privilege;
    std::size_t count = 0;
    for (trace::EventScan scan = reader.scan(); scan.next();)
        for (const trace::Event &event : scan.events())
            count += event.kind == wanted.kind &&
                     trace::subkind_name(event.kind, event.subkind) == wanted.name &&
                     privileges[event.site] == wanted.privilege;
    return count;
}

// Recorded twice: the second must be the first, bit for bit.
RecordResult record_twice(RecordingPlace &place, const std::string &spec)
{
    const RecordResult first = place.record(spec);
    EXPECT_EQ(first.end, WorkloadEnd::finished) << first.outcome;
    EXPECT_TRUE(first.complete()) << first.differing_lines;
    EXPECT_GT(first.stores, 100u);
    const RecordResult second = place.record(spec);
    EXPECT_TRUE(second.complete());
    EXPECT_EQ(first.event_count, second.event_count);
    EXPECT_EQ(first.event_digest, second.event_digest);
    EXPECT_EQ(first.final_digests, second.final_digests);
    return first;
}

constexpr const char *kScript = R"(
[setup]
script = "mkdir a; echo hello >a/x"
[workload]
kind = "script"
text = """
cat a/x
for i in 1 2 3
do
  echo $i >a/$i
done
mv a/1 a/one; sync
"""
)";

TEST(Record, Ext4Script)
{
    RecordingPlace place;
    const RecordResult result =
        record_twice(place, std::string("[file_system]\ntype = \"ext4\"\n") + kScript);
    EXPECT_EQ(result.outcome, "finished: exit status 0");
    EXPECT_EQ(result.report.steps.at(1).run.output, "hello\n");
    const TraceReader reader(place.trace());
    EXPECT_EQ(reader.recording().state, trace::RecordingState::complete);
    EXPECT_EQ(reader.recording().outcome, result.outcome);
    EXPECT_EQ(operations(reader),
              (std::vector<std::string>{"cat a/x", "for i in 1 2 3\ndo\n  echo $i >a/$i\ndone",
                                        "mv a/1 a/one; sync"}));
    EXPECT_EQ(marker_counts(reader)[MarkerKind::op_end], 3);
    for (const trace::DataQuality &counter : reader.data_quality())
        EXPECT_TRUE(counter.severity != trace::QualityLevel::error || counter.value == 0)
            << counter.name;
    EXPECT_EQ(reader.regions().at(0).final_digest, result.final_digests.at(0));
}

TEST(Record, XfsOps)
{
    RecordingPlace place;
    record_twice(place, R"(
[pm]
size = "64M"
[file_system]
type = "xfs"
[workload]
kind = "ops"
unmount = true
text = """
open a foo rdwr|creat
pwrite a 0 4096
fsync a
parallel
thread
  pwrite a 4096 4096:1
thread
  mkdir d
  rename foo d/foo
end
close a
"""
)");
    EXPECT_EQ(marker_counts(TraceReader(place.trace()))[MarkerKind::op_end], 7);
}

TEST(Record, LibpmemobjProgram)
{
    RecordingPlace place;
    compile_btree(place.path());
    record_twice(place, kPmemobjSpec);
    const TraceReader reader(place.trace());
    auto counts = marker_counts(reader);
    EXPECT_GT(counts[MarkerKind::syscall_enter], 10);
    EXPECT_EQ(counts[MarkerKind::process_start], 1);
    bool opened = false;
    reader.for_each_marker(
        [&](const trace::MarkerRow &row) { opened = opened || row.marker.text == "/mnt/pm/pool"; });
    EXPECT_TRUE(opened) << "no system call names the pool";
    // libpmem takes clwb on Intel CPUs only, and clflushopt elsewhere.
    using enum trace::Privilege;
    EXPECT_GT(count_of(reader, {trace::EventKind::flush, "clwb", user}), 10u);
    EXPECT_EQ(count_of(reader, {trace::EventKind::flush, "clflushopt", user}), 0u);
}

// Elsewhere kernels before 5.4 use mfence as their speculation barrier, in every system call with a
// path.
TEST(Record, TheGuestsCpuIsAnIntelOne)
{
    RecordingPlace place;
    const RecordResult result = place.record(
        "[pm]\nsize = '32M'\n[file_system]\ntype = 'ext4'\n[workload]\nkind = 'script'\n"
        "text = \"\"\"\necho x >a\nmv a b\ngrep -m 1 vendor_id /proc/cpuinfo\n"
        "grep -o -w -E -m 1 'clwb' /proc/cpuinfo\nsync\n\"\"\"\n");
    EXPECT_EQ(result.report.steps.at(1).run.output, "vendor_id\t: GenuineIntel\nclwb\n");
    EXPECT_EQ(result.end, WorkloadEnd::finished) << result.outcome;
    const TraceReader reader(place.trace());
    using enum trace::Privilege;
    EXPECT_GT(count_of(reader, {trace::EventKind::fence, "lfence", kernel}), 50u);
    EXPECT_EQ(count_of(reader, {trace::EventKind::fence, "mfence", kernel}), 0u);
}

TEST(Record, E820AndTwoCpus)
{
    RecordingPlace place;
    record_twice(
        place, std::string(
                   "[guest]\ncpus = 2\n[pm]\nattach = \"e820\"\n[file_system]\ntype = \"ext4\"\n") +
                   kScript);
}

TEST(Record, WithoutAFileSystem)
{
    RecordingPlace place;
    const RecordResult result = record_twice(place, R"(
[workload]
kind = "ops"
text = """
open a /dev/pmem0 rdwr
pwrite a 0 8192
fsync a
"""
)");
    EXPECT_EQ(marker_counts(TraceReader(place.trace()))[MarkerKind::op_end], 3) << result.outcome;
}

// Taking the second CPU offline executes wbinvd, a flush of everything: that is after the workload.
TEST(Record, NothingAfterTheWorkloadIsRecorded)
{
    RecordingPlace place;
    const RecordResult result = place.record(R"(
[guest]
cpus = 2
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "ops"
text = """
open f a rdwr|creat
pwrite f 0 4096
map m f 0 4096
store m 0 "x"
"""
)");
    EXPECT_EQ(result.end, WorkloadEnd::finished) << result.outcome;
    EXPECT_TRUE(result.complete()) << result.differing_lines;
    const TraceReader reader(place.trace());
    std::uint64_t last_operation = 0;
    std::uint64_t off = 0;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.kind == MarkerKind::op_end)
            last_operation = row.seq;
        if (row.kind == MarkerKind::record_off)
            off = row.seq;
    });
    EXPECT_EQ(off, reader.event_count() - 1);
    EXPECT_LT(off - last_operation, 5000u) << "the child ends, and no more";
    using enum trace::Privilege;
    EXPECT_EQ(count_of(reader, {trace::EventKind::flush, "wbinvd", kernel}), 0u);
}

struct FalseGreen {
    const char *name;
    const char *spec;
    const char *warned; // names of counters that are not 0, in order
};

void PrintTo(const FalseGreen &row, std::ostream *out)
{
    *out << row.name;
}

class RecordFalseGreen : public testing::TestWithParam<FalseGreen> {};

TEST_P(RecordFalseGreen, IsTold)
{
    RecordingPlace place;
    const RecordResult result = place.record(std::string("[pm]\nsize = '32M'\n") + GetParam().spec);
    EXPECT_EQ(result.end, WorkloadEnd::finished) << result.outcome;
    std::string warned;
    const TraceReader reader(place.trace());
    for (const trace::DataQuality &warning : reach_warnings(reader))
        warned += warning.name + " ";
    EXPECT_EQ(warned, GetParam().warned);
    EXPECT_EQ(why_no_pass(reader).empty(), warned.empty() || warned == "mounted_without_dax ");
}

const FalseGreen kFalseGreens[] = {
    {"explicit_options_drop_dax",
     "[file_system]\ntype = 'ext4'\nmount_options = 'noatime'\n[workload]\nkind = 'script'\ntext = "
     "'echo x >a'\n",
     "nothing_reached_pm mounted_without_dax "},
    {"page_cache_that_is_synced",
     "[file_system]\ntype = 'ext4'\nmount_options = 'noatime'\n[workload]\nkind = 'script'\ntext = "
     "'echo x >a; sync'\n",
     "mounted_without_dax "},
    // Closing the device writes back.
    {"a_map_of_the_device",
     "[workload]\nkind = 'ops'\ntext = '''\nopen f /dev/pmem0 rdwr\nmap m f 0 4096\nstore m 0 "
     "\"x\"\nflush m 0 1\nfence\n'''\n",
     "program_flushes_of_volatile_memory "},
    {"dax", "[file_system]\ntype = 'ext4'\n[workload]\nkind = 'script'\ntext = 'echo x >a'\n", ""},
};
INSTANTIATE_TEST_SUITE_P(All, RecordFalseGreen, testing::ValuesIn(kFalseGreens),
                         [](const auto &row) { return std::string(row.param.name); });

TEST(Record, AMountThatFailsIsToldInTheKernelsWords)
{
    RecordingPlace place;
    const RecordResult result =
        place.record("[file_system]\ntype = 'ext4'\nfirst_mount_options = 'dax'\n"
                     "mount_options = 'dax,nosuchoption'\n"
                     "[workload]\nkind = 'script'\ntext = 'true'\n");
    EXPECT_EQ(result.end, WorkloadEnd::failed);
    EXPECT_NE(result.outcome.find("; last kernel message: "), std::string::npos) << result.outcome;
    EXPECT_NE(result.outcome.find("'nosuchoption'"), std::string::npos) << result.outcome;
}

std::string ext4_script(const std::string &commands, const std::string &fields = "")
{
    return "[file_system]\ntype = \"ext4\"\n[workload]\nkind = \"script\"\n" + fields +
           "text = '''\necho x >a\n" + commands + "\n'''\n";
}

struct BadEnd {
    const char *name;
    const char *commands;
    const char *fields;
    WorkloadEnd end;
    const char *outcome;
};

void PrintTo(const BadEnd &row, std::ostream *out)
{
    *out << row.name;
}

class RecordBadEnd : public testing::TestWithParam<BadEnd> {};

TEST_P(RecordBadEnd, LeavesAValidTraceThatSaysSo)
{
    RecordingPlace place;
    const RecordResult result = place.record(ext4_script(GetParam().commands, GetParam().fields));
    EXPECT_EQ(result.end, GetParam().end);
    EXPECT_EQ(result.outcome.substr(0, std::string(GetParam().outcome).size()), GetParam().outcome)
        << result.outcome;
    EXPECT_TRUE(result.complete());
    const TraceReader reader(place.trace());
    EXPECT_EQ(reader.recording().state, trace::RecordingState::complete);
    EXPECT_EQ(reader.recording().outcome, result.outcome);
    EXPECT_EQ(operations(reader).at(0), "echo x >a");
}

const BadEnd kBadEnds[] = {
    {"status", "ls nothing", "", WorkloadEnd::failed,
     "failed: the workload: exit status 1: ls: nothing: No such file or directory"},
    {"signal", "kill -SEGV $$", "", WorkloadEnd::failed, "failed: the workload: signal 11"},
    {"time", "sleep 1000", "time_limit = 3\n", WorkloadEnd::timed_out,
     "timed_out: the workload: it was still running"},
    {"hang", "while :; do :; done", "host_time_limit = 6\n", WorkloadEnd::hung,
     "hung: the guest still ran after 6 s"},
    {"panic", "echo c >/proc/sysrq-trigger", "", WorkloadEnd::panicked,
     "panicked: Kernel panic - not syncing"},
    {"power", "poweroff -f", "", WorkloadEnd::powered_off, "powered_off: "},
    {"reboot", "reboot -f", "", WorkloadEnd::rebooted, "rebooted: "},
};
INSTANTIATE_TEST_SUITE_P(All, RecordBadEnd, testing::ValuesIn(kBadEnds),
                         [](const auto &row) { return std::string(row.param.name); });

TEST(Record, CommandsHaveDefaultSignals)
{
    RecordingPlace place;
    const RecordResult result =
        place.record(ext4_script("grep -E 'Sig(Ign|Blk)' /proc/self/status"));
    EXPECT_EQ(result.report.steps.at(1).run.output,
              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Record, ASetUpThatFailsIsAnError)
{
    RecordingPlace place;
    try {
        place.record(ext4_script("true") + "[setup]\nscript = 'ls nothing'\n");
        ADD_FAILURE() << "recorded";
    } catch (const Error &error) {
        EXPECT_EQ(error.exit_code(), 4);
        EXPECT_NE(std::string(error.what()).find("ls: nothing: No such file"), std::string::npos)
            << error.what();
    }
}

} // namespace
} // namespace fencepost::record
