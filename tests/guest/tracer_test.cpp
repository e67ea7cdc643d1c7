// SPDX-License-Identifier: GPL-2.0-or-later
// The tracer in a real guest: what a file system does is recorded to the last byte.
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "tests/guest/recorded_guest.h"

namespace fencepost::guest {
namespace {

const char *const kWork =
    "set -e; cd /mnt/pm; for i in 1 2 3 4 5; do echo text $i > file$i; mkdir dir$i; "
    "mv file$i dir$i/; done; dd if=/dev/zero of=big bs=64k count=16 2>/dev/null; "
    "ln big link; rm big; sync";

std::uint64_t count(const trace::TraceReader &reader, const std::string &where)
{
    trace::Statement query(reader.connection(), "SELECT count(*) FROM event WHERE " + where);
    EXPECT_TRUE(query.step());
    return static_cast<std::uint64_t>(query.integer(0));
}

TEST(Tracer, RecordsAFileSystemToTheLastByte)
{
    GuestConfig config;
    config.clock = Clock::icount;
    World world("process", config);
    const TemporaryDirectory directory("/tmp", "fp-tracer-");
    RecordedGuest recorded(world, directory.path(), {.file_system = "ext4"});
    mount_pm(recorded.guest(), "ext4");
    const RunReply reply = run_in(recorded.guest(), {"sh", "-c", kWork});
    ASSERT_TRUE(reply.success()) << reply.output;
    recorded.end();

    const trace::TraceReader reader(recorded.trace_file());
    EXPECT_EQ(reader.recording().state, trace::RecordingState::complete);
    EXPECT_GT(count(reader, "kind IN ('store', 'nt_store')"), 1000u);
    EXPECT_GT(count(reader, "subkind = 'sfence'"), 10u);
    EXPECT_TRUE(recorded.compare().equal());
    for (const trace::DataQuality &counter : reader.data_quality()) {
        if (counter.severity == trace::QualityLevel::error) {
            EXPECT_EQ(counter.value, 0) << counter.name;
        }
    }
}

TEST(Tracer, RecordsTheMarkersOfAScriptAndStopsWhenTold)
{
    World world;
    const TemporaryDirectory directory("/tmp", "fp-tracer-");
    RecordedGuest recorded(world, directory.path(), {.file_system = "ext4"});
    mount_pm(recorded.guest(), "ext4");
    const char *script =
        "set -e; fencepost-mark op-begin 3 'make it'; echo x > /mnt/pm/f; sync; "
        "fencepost-mark op-end 3 -7; fencepost-mark record-off; echo y > /mnt/pm/g; sync; "
        "fencepost-mark record-on; fencepost-mark note end";
    const RunReply reply = run_in(recorded.guest(), {"sh", "-c", script});
    ASSERT_TRUE(reply.success()) << reply.errors;
    recorded.end();

    const trace::TraceReader reader(recorded.trace_file());
    std::vector<std::string> markers;
    std::map<trace::MarkerKind, std::uint64_t> places;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        markers.push_back(fmt::format("{} {} {} {}", trace::name_of(row.kind), row.marker.number,
                                      row.marker.result, row.marker.text));
        places[row.kind] = row.seq;
    });
    EXPECT_EQ(markers,
              (std::vector<std::string>{"op_begin 3 0 make it", "op_end 3 -7 ", "record_off 0 0 ",
                                        "record_on 0 0 ", "note 0 0 end"}));
    EXPECT_EQ(places[trace::MarkerKind::record_on], places[trace::MarkerKind::record_off] + 1);
    EXPECT_GT(places[trace::MarkerKind::op_end], places[trace::MarkerKind::op_begin] + 10);
    trace::Statement pair(reader.connection(),
                          "SELECT count(*) FROM operation WHERE last_seq IS NOT NULL");
    ASSERT_TRUE(pair.step());
    EXPECT_EQ(pair.integer(0), 1);
}

TEST(Tracer, RefusesWhatItDoesNotKnow)
{
    World world;
    const TemporaryDirectory directory("/tmp", "fp-tracer-");
    try {
        RecordedGuest recorded(world, directory.path(), {.plugin_options = ",colour=on"});
        ADD_FAILURE() << "a guest started with an unknown option";
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("fencepost-tracer: there is no option 'colour'"),
                  std::string::npos)
            << error.what();
    }
}

} // namespace
} // namespace fencepost::guest
