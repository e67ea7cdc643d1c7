// SPDX-License-Identifier: GPL-2.0-or-later
// Run directories without a machine: who may replace one, what verify says of complete, incomplete
// and unfinished traces, and that what is kept can be read again.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/record/verify.h"
#include "replayer/run/inputs.h"
#include "trace/amendment.h"
#include "trace/image.h"
#include "trace/writer.h"

namespace fencepost::run {
namespace {

namespace fs = std::filesystem;
using record::Completeness;
using record::verify_trace;
using record::VerifyReport;
using trace::Event;
using trace::EventBuffer;

constexpr std::uint64_t kBase = 4ull << 30;
constexpr std::uint64_t kSize = 1 << 20;

class RunTest : public testing::Test {
protected:
    fs::path run() const { return directory_.path() / "run"; }
    RunFiles files() const { return {run()}; }

    // A trace of one store of 0x2a at offset 100 and of some markers; PM at the end has
    // `final_byte` there.
    void make_trace(std::uint8_t final_byte, bool finished = true, unsigned markers = 0)
    {
        make_directories(run());
        trace::Region region;
        region.id = 1;
        region.name = "pmem0";
        region.base = kBase;
        region.size = kSize;
        region.file = "pm0";
        trace::TraceWriter writer = trace::TraceWriter::create(files().trace());
        writer.put_region(region);
        std::vector<std::byte> initial(kSize);
        writer.put_initial_image(region, initial);
        EventBuffer buffer(8);
        Event store;
        store.address = kBase + 100;
        store.size = 1;
        const std::uint8_t value = 0x2a;
        buffer.push_store(store, &value);
        for (unsigned i = 0; i < markers; ++i) {
            Event marker;
            marker.kind = trace::EventKind::marker;
            marker.subkind = static_cast<std::uint8_t>(trace::MarkerKind::checkpoint);
            buffer.push_marker(marker, {});
        }
        writer.append(buffer);
        if (!finished) {
            writer.sync();
            return;
        }
        writer.finish(trace::RecordingState::complete, "finished");
        std::string bytes(kSize, '\0');
        bytes[100] = static_cast<char>(final_byte);
        write_file(files().final_pm(0), bytes);
        trace::TraceAmendment amendment(files().trace());
        amendment.put_final_digest(1, trace::image_digest(std::as_bytes(std::span(bytes))));
        amendment.commit();
    }

    std::string refusal(Replace replace)
    {
        try {
            NewRun made(run(), replace);
        } catch (const Error &error) {
            EXPECT_EQ(error.exit_code(), 2);
            return error.what();
        }
        return "accepted";
    }

    TemporaryDirectory directory_{"/tmp", "fp-run-"};
};

TEST_F(RunTest, ACompleteTraceIsComplete)
{
    make_trace(0x2a);
    const VerifyReport report = verify_trace(files());
    EXPECT_EQ(report.completeness, Completeness::complete);
    EXPECT_TRUE(report.good());
}

TEST_F(RunTest, AMissedStoreIsNamedWithItsLine)
{
    make_trace(0x2b);
    const VerifyReport report = verify_trace(files());
    EXPECT_EQ(report.completeness, Completeness::incomplete);
    EXPECT_FALSE(report.good());
    EXPECT_EQ(report.differing_lines, 1u);
    ASSERT_EQ(report.differences.size(), 1u);
    EXPECT_EQ(report.differences[0],
              "line 0x100000040 (region 1, offset 0x40): from byte 36 on the trace says 2a, "
              "PM has 2b; last written by event 0");
}

TEST_F(RunTest, AnUnfinishedTraceIsNotCalledComplete)
{
    make_trace(0x2a, false);
    const VerifyReport report = verify_trace(files());
    EXPECT_EQ(report.recording.state, trace::RecordingState::running);
    EXPECT_EQ(report.recording.event_count, 1u);
    EXPECT_EQ(report.completeness, Completeness::unknown);
    EXPECT_FALSE(report.good());
}

// What is said, and that no guest records again: the run has no inputs that could be.
TEST_F(RunTest, ARecordingThatCannotRepeatIsNotRecordedAgain)
{
    std::vector<std::string> said;
    const auto verify = [&] {
        return record::verify_run(files(), directory_.path(), 1,
                                  [&](const std::string &line) { said.push_back(line); });
    };
    make_trace(0x2a, false);
    EXPECT_TRUE(verify().repetitions.empty());
    EXPECT_TRUE(said.empty());
    make_trace(0x2a);
    EXPECT_THROW(verify(), Error);
    trace::TraceAmendment amendment(files().trace());
    amendment.put_outcome("hung: the guest still ran");
    amendment.commit();
    EXPECT_TRUE(verify().good());
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(said[0].starts_with("not recorded again: the guest was stopped by the host's time"))
        << said[0];
}

TEST_F(RunTest, WhyAReportIsNotGoodIsAnError)
{
    VerifyReport good;
    good.recording.state = trace::RecordingState::complete;
    good.completeness = Completeness::complete;
    good.repetitions = {{.same_events = true, .same_effects = true, .same_final_pm = true}};
    record::require_good(good);

    const auto refused = [](const VerifyReport &report, ErrorKind kind, const char *why) {
        EXPECT_FALSE(report.good() && report.recording.state == trace::RecordingState::complete);
        try {
            record::require_good(report);
            ADD_FAILURE() << "not refused: " << why;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), kind);
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
    };
    VerifyReport report = good;
    report.recording.state = trace::RecordingState::running;
    refused(report, ErrorKind::trace, "did not end");
    report = good;
    report.completeness = Completeness::incomplete;
    refused(report, ErrorKind::trace, "not to be trusted");
    report = good;
    report.counters = {{"stores_outside_pm", 1, trace::QualityLevel::error, ""}};
    refused(report, ErrorKind::trace, "not to be trusted");
    report = good;
    report.repetitions[0].same_events = false;
    refused(report, ErrorKind::trace, "does not repeat");
    report.changed = {"it was recorded with QEMU 1"};
    refused(report, ErrorKind::guest, "not the machine that made it: it was recorded with QEMU 1");
}

// What verify_trace() says of a trace that was good before; empty: nothing.
std::string complaint(const RunFiles &files)
{
    try {
        verify_trace(files);
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::trace);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        return error.what();
    }
    return "";
}

TEST_F(RunTest, DamageToAnyTableIsFound)
{
    make_trace(0x2a);
    const std::string good = read_file(files().trace());
    std::map<std::string, std::size_t> pages;
    std::size_t page_size = 0;
    {
        trace::Database database(files().trace(), SQLITE_OPEN_READONLY);
        page_size = static_cast<std::size_t>(database.integer("PRAGMA page_size"));
        trace::Statement row(database.get(),
                             "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 1");
        while (row.step())
            pages.emplace(row.text(0), row.number(1));
    }
    for (const char *table :
         {"marker", "marker_pair", "site", "site_count", "symbol", "stack", "stack_frame"})
        EXPECT_TRUE(pages.contains(table)) << table;
    for (const auto &[table, page] : pages) {
        std::string bad = good;
        std::mt19937 random(static_cast<unsigned>(page));
        std::generate_n(bad.begin() + static_cast<std::ptrdiff_t>((page - 1) * page_size),
                        page_size, [&] { return static_cast<char>(random()); });
        write_file(files().trace(), bad);
        EXPECT_NE(complaint(files()).find(files().trace().string() +
                                          " is truncated or damaged: SQLite says "),
                  std::string::npos)
            << table << ": " << complaint(files());
    }
    write_file(files().trace(), good);
    EXPECT_EQ(complaint(files()), "");
}

TEST_F(RunTest, EachMarkerHasItsWords)
{
    const std::pair<const char *, const char *> kCases[] = {
        {"DELETE FROM marker WHERE seq = 2", "its events have 2 markers, and 1 of them have words"},
        {"UPDATE marker SET kind = 'op_end' WHERE seq = 1", "words for a marker at seq 1"},
        {"UPDATE marker SET seq = 0 WHERE seq = 1", "words for a marker at seq 0"},
    };
    for (const auto &[sql, says] : kCases) {
        fs::remove_all(run());
        make_trace(0x2a, true, 2);
        EXPECT_EQ(complaint(files()), "");
        trace::Database(files().trace(), SQLITE_OPEN_READWRITE).execute(sql);
        EXPECT_NE(complaint(files()).find(says), std::string::npos) << complaint(files());
    }
}

TEST_F(RunTest, AFinishedRunIsReplacedOnlyByForce)
{
    make_trace(0x2a);
    EXPECT_NE(refusal(Replace::unfinished_only).find("--force replaces it"), std::string::npos);
    EXPECT_TRUE(fs::exists(files().trace()));
    EXPECT_EQ(refusal(Replace::any), "accepted");
    EXPECT_FALSE(fs::exists(run())) << "no trace came into it";
}

TEST_F(RunTest, AnUnfinishedRunStartsClean)
{
    make_trace(0x2a, false);
    EXPECT_EQ(refusal(Replace::unfinished_only), "accepted");
}

// Of a run that may not be looked at: not that it is not there.
TEST_F(RunTest, APermissionThatIsMissingIsNamed)
{
    make_trace(0x2a);
    fs::permissions(directory_.path(), fs::perms::owner_all);
    const bool superuser = geteuid() == 0; // who may look at everything
    if (!superuser)
        fs::permissions(directory_.path(), fs::perms::none);
    ASSERT_TRUE(!superuser || seteuid(65534) == 0);
    for (const fs::path &path : {run(), files().trace()}) {
        try {
            open_run(path);
            ADD_FAILURE() << "could be looked at";
        } catch (const Error &error) {
            EXPECT_EQ(error.what(),
                      fmt::format("cannot look at {}: Permission denied", path.string()));
            EXPECT_EQ(error.exit_code(), 4);
        }
    }
    ASSERT_TRUE(!superuser || seteuid(0) == 0);
    fs::permissions(directory_.path(), fs::perms::owner_all);
}

TEST_F(RunTest, ARunIsItsDirectoryOrItsTrace)
{
    make_trace(0x2a);
    EXPECT_EQ(open_run(run()).directory, run());
    EXPECT_EQ(open_run(run() / "").trace(), files().trace());
    EXPECT_EQ(open_run(files().trace()).directory, run());
    const fs::path before = fs::current_path();
    fs::current_path(run());
    EXPECT_EQ(open_run("trace.db").trace(), "./trace.db");
    EXPECT_EQ(open_run(".").trace(), "./trace.db");
    fs::current_path(before);
}

TEST_F(RunTest, WhatIsNoRunIsLeftAlone)
{
    make_directories(run());
    write_file(run() / "thesis.tex", "x");
    EXPECT_NE(refusal(Replace::any).find("is not a run (it holds thesis.tex)"), std::string::npos);
    EXPECT_TRUE(fs::exists(run() / "thesis.tex"));
    fs::remove_all(run());
    write_file(run(), "a file");
    EXPECT_NE(refusal(Replace::any).find("is not a directory"), std::string::npos);
}

// Only what fencepost wrote: a user's notes stay, and so does where a link leads.
TEST_F(RunTest, WhatOthersPutIntoARunStays)
{
    make_trace(0x2a);
    const fs::path finding = files().findings() / "0123456789ab";
    fs::create_directories(finding);
    for (const char *name : {"summary.json", "console.log", "image.delta", "my thoughts.txt"})
        write_file(finding / name, "x");
    fs::create_directories(files().findings() / "0123456789ac");
    write_file(files().findings() / "0123456789ac/summary.json", "x");
    fs::create_directories(files().findings() / "old");
    write_file(files().findings() / "todo", "x");
    fs::create_directories(files().legal_states());
    write_file(files().legal_states() / "own.0", "x");
    write_file(files().results(), "x");
    const fs::path outside = directory_.path() / "outside";
    fs::create_directories(outside);
    write_file(outside / "summary.json", "x");
    fs::create_symlink(outside, files().findings() / "0123456789ad");
    EXPECT_EQ(refusal(Replace::any), "accepted");
    for (const fs::path &gone :
         {finding / "summary.json", finding / "image.delta", files().findings() / "0123456789ac",
          files().legal_states(), files().results(), files().trace()})
        EXPECT_FALSE(fs::exists(gone)) << gone;
    for (const fs::path &kept :
         {finding / "my thoughts.txt", files().findings() / "old", files().findings() / "todo",
          outside / "summary.json", files().findings() / "0123456789ad"})
        EXPECT_TRUE(fs::exists(kept)) << kept;
}

TEST_F(RunTest, AnIdOfAFindingIsTwelveDigits)
{
    EXPECT_TRUE(is_finding_id("0123456789ab"));
    for (const char *bad : {"", "0123456789a", "0123456789abc", "0123456789aB", "../../../etc",
                            "0123456/89ab", "..........."})
        EXPECT_FALSE(is_finding_id(bad)) << bad;
}

TEST_F(RunTest, OneRecorderAtATime)
{
    const NewRun first(run(), Replace::unfinished_only);
    EXPECT_NE(refusal(Replace::any).find("is being recorded or tested by another process"),
              std::string::npos);
    EXPECT_TRUE(is_being_recorded(files()));
}

TEST_F(RunTest, InputsComeBack)
{
    make_directories(run());
    Inputs inputs;
    inputs.config.clock = guest::Clock::icount;
    inputs.config.recording = true;
    inputs.config.cpus = 2;
    inputs.setup.steps.emplace_back().command.argv = {"mkfs"};
    inputs.workload.recorded = true;
    inputs.workload_step = 1;
    inputs.host_time_limit = 7;
    inputs.spec = "[workload]\n";
    inputs.stacks = true;
    inputs.test.annotator = "/a/b";
    save_inputs(files(), inputs);
    const Inputs back = load_inputs(files());
    EXPECT_EQ(back.config.cpus, 2u);
    EXPECT_TRUE(back.config.recording);
    EXPECT_EQ(back.setup, inputs.setup);
    EXPECT_EQ(back.workload, inputs.workload);
    EXPECT_EQ(back.workload_step, 1u);
    EXPECT_EQ(back.host_time_limit, 7u);
    EXPECT_EQ(back.spec, inputs.spec);
    EXPECT_TRUE(back.stacks);
    EXPECT_EQ(back.test.annotator, "/a/b");
    write_file(files().workload_job(), "nonsense");
    EXPECT_THROW(load_inputs(files()), Error);
    fs::remove(files().inputs());
    try {
        load_inputs(files());
        ADD_FAILURE();
    } catch (const Error &error) {
        EXPECT_EQ(error.exit_code(), 3);
    }
}

} // namespace
} // namespace fencepost::run
