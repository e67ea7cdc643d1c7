// SPDX-License-Identifier: GPL-2.0-or-later
// The tracer in a real guest: what a file system does is recorded to the last byte.
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/guest/recorded_guest.h"

namespace fencepost::guest {
namespace {

const char *const kWork = "set -e; cd /mnt/pm; for i in 1 2 3 4 5; do echo text $i > file$i; mkdir dir$i; "
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
        if (counter.severity == trace::Severity::error) {
            EXPECT_EQ(counter.value, 0) << counter.name;
        }
    }
}

} // namespace
} // namespace fencepost::guest
