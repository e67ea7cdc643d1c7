// SPDX-License-Identifier: GPL-2.0-or-later
// A recorder killed at any moment leaves a valid prefix that says it is unfinished.
#include "trace/reader.h"
#include "trace/writer.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "random_events.h"
#include "trace/journal.h"

namespace fencepost::trace {
namespace {

// What the recorder tells the test, in shared memory: the events of the last sync() that returned.
struct Progress {
    volatile std::uint64_t synced;
};

constexpr std::size_t kEvents = 40000;

[[noreturn]] void record(const std::filesystem::path &path, const std::vector<PlainEvent> &events,
                         Progress &progress)
{
    // Small buffers and many commits: the interesting moments come often.
    TraceWriter writer = TraceWriter::create(path);
    EventBuffer buffer(701);
    for (std::size_t i = 0;; ++i) {
        push(buffer, events[i % events.size()]);
        if (!buffer.full())
            continue;
        writer.append(buffer);
        buffer.clear();
        writer.sync();
        progress.synced = writer.event_count();
    }
}

// Whether a reader finds a journal to roll back, which it leaves as it is.
bool is_refused(const std::filesystem::path &path)
{
    try {
        const TraceReader reader(path);
        return false;
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("`fencepost repair "), std::string::npos)
            << error.what();
        EXPECT_TRUE(std::filesystem::exists(path.string() + "-journal"));
        return true;
    }
}

TEST(KilledRecorder, LeavesAValidPrefix)
{
    const TemporaryDirectory directory(testing::TempDir(), "crash");
    const std::filesystem::path path = directory.path() / "trace.db";
    void *shared =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    Progress &progress = *static_cast<Progress *>(shared);
    RandomEvents random(9);
    const std::vector<PlainEvent> events = random.take(kEvents);
    int rolled_back = 0;
    int with_events = 0;
    constexpr int kRounds = 150;
    for (int round = 0; round < kRounds; ++round) {
        progress.synced = 0;
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0)
            record(path, events, progress);
        // Some die while the file is made, the others after a few commits, in the midst of the
        // next.
        const std::uint64_t until = round % 4 ? 1 + random.below(20 * 701) : 0;
        while (progress.synced < until)
            usleep(100);
        usleep(static_cast<useconds_t>(random.below(until ? 3000 : 30000)));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        if (!std::filesystem::exists(path)) {
            ASSERT_EQ(progress.synced, 0u);
            continue;
        }
        const bool refused = is_refused(path);
        rolled_back += roll_back(path);
        ASSERT_TRUE(!refused || !is_refused(path)) << "a second time";
        ASSERT_FALSE(std::filesystem::exists(path.string() + "-journal") && refused);

        const TraceReader reader(path);
        ASSERT_LE(reader.recording().state, RecordingState::running);
        // Killed in sync(): it took effect or it did not.
        ASSERT_GE(reader.event_count(), progress.synced);
        ASSERT_LE(reader.event_count(), progress.synced + 701);
        std::uint64_t expected = 0;
        std::uint64_t marker_events = 0;
        reader.scan().for_each([&](std::uint64_t seq, const Event &event, auto wide_values) {
            ASSERT_EQ(seq, expected++);
            ASSERT_EQ(plain(event, wide_values), events[seq % events.size()]);
            marker_events += event.kind == EventKind::marker;
        });
        ASSERT_EQ(expected, reader.event_count());
        std::uint64_t markers = 0;
        reader.for_each_marker([&](const MarkerRow &) { ++markers; });
        ASSERT_EQ(markers, marker_events);
        with_events += reader.event_count() > 0;
        std::filesystem::remove(path);
    }
    munmap(shared, sizeof(Progress));
    // The test means something only if it hit commits half way and recordings under way.
    EXPECT_GT(with_events, kRounds / 3);
    EXPECT_GT(rolled_back, 0);
}

} // namespace
} // namespace fencepost::trace
