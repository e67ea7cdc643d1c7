// SPDX-License-Identifier: GPL-2.0-or-later
// Crash states of a real recording: ext4 with DAX, call stacks included.
#include <cstring>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/places.h"
#include "replayer/image/image_index.h"
#include "replayer/image/state_images.h"
#include "replayer/record/recorder.h"
#include "tests/states/image_listener.h"
#include "trace/replay.h"

namespace fencepost::image {
namespace {

using states::StateView;

constexpr const char *kSpec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
mkdir d
echo hello >d/greeting
sync
mv d/greeting d/welcome
dd if=/dev/zero of=d/data bs=4096 count=20 2>/dev/null
sync
rm d/welcome
"""
)";

// Recorded once, by the first test that asks: what goes wrong then is that test's failure.
std::filesystem::path recorded()
{
    static const TemporaryDirectory directory("/tmp", "fp-states-");
    const std::filesystem::path trace = directory.path() / "trace.db";
    if (std::filesystem::exists(trace))
        return trace;
    record::Recorder recorder(cache_directory(), {[](const std::string &) {}, {}});
    const run::Inputs inputs = recorder.prepare(
        run::parse_spec(kSpec, "spec.toml", directory.path(), run::FilesFrom::spec_directory),
        true);
    const record::RecordResult result =
        recorder.record(inputs, trace, [](std::size_t) { return directory.path() / "final"; });
    EXPECT_EQ(result.end, run::WorkloadEnd::finished) << result.outcome;
    EXPECT_TRUE(result.complete());
    return trace;
}

// Each failure point once, by its call stack, and its image is a replay of the trace up to it.
TEST(RecordedStates, PrefixIsAReplay)
{
    const trace::TraceReader reader(recorded());
    const InitialImage initial(reader);
    const trace::Region region = initial.regions()[0];
    std::set<std::pair<unsigned, unsigned>> paths;
    unsigned with_stack = 0;
    std::uint64_t points = 0;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        trace::EventScan scan =
            reader.scan({.first_seq = state.point.seq, .last_seq = state.point.seq});
        EXPECT_TRUE(scan.next());
        scan.visit_block([&](std::uint64_t, const trace::Event &event, auto) {
            EXPECT_TRUE(paths.emplace(event.site, event.stack).second) << "a failure point twice";
            with_stack += event.stack != 0;
        });
        ++points;
        std::vector<std::byte> replayed(region.size);
        reader.load_initial_image(region, replayed);
        const trace::RegionImage image = {region, replayed};
        trace::replay_onto(reader, std::span(&image, 1), state.point.seq - 1);
        const std::span<const std::byte> written = images.images().written().region(0);
        EXPECT_EQ(std::memcmp(written.data(), replayed.data(), region.size), 0) << state.point.seq;
        Hash128 hash;
        for (std::size_t at = 0; at < replayed.size(); at += trace::kLineBytes)
            hash += line_hash((region.base + at) / trace::kLineBytes, replayed.data() + at);
        EXPECT_EQ(images.hash(state), hash);
        return true;
    });
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("prefix")});
    const states::WalkReport report = walk.run(listener);
    EXPECT_EQ(report.failure_points, points);
    EXPECT_EQ(report.events, reader.event_count());
    EXPECT_EQ(with_stack, points);
    // The definition once more: flushes and fences by their code path, after a store.
    std::set<std::pair<unsigned, unsigned>> expected;
    bool stored = false;
    reader.scan().for_each([&](std::uint64_t, const trace::Event &event, auto) {
        const bool fence = event.kind == trace::EventKind::fence &&
                           (event.fence_kind() == trace::FenceKind::sfence ||
                            event.fence_kind() == trace::FenceKind::mfence);
        if ((fence || event.kind == trace::EventKind::flush) && std::exchange(stored, false))
            expected.emplace(event.site, event.stack);
        stored = stored || event.is_store();
    });
    EXPECT_EQ(paths, expected);
    EXPECT_GE(points, 4u);
}

// All strategies get through a real trace; the last state of all is PM as the guest left it.
TEST(RecordedStates, TheEndIsWhatTheGuestLeft)
{
    const trace::TraceReader reader(recorded());
    const InitialImage initial(reader);
    ImageIndex index;
    Hash128 last;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        const Hash128 hash = images.hash(state);
        index.add(hash, 0, {state.point.seq, ""});
        if (state.point.seq == reader.event_count() && state.levels.base == states::Base::all &&
            state.levels.exceptions.empty())
            last = hash;
        return true;
    });
    states::StateWalk walk(
        reader, {.strategies = states::parse_strategies("prefix,none-all,random:3,exhaustive:50")});
    const states::WalkReport report = walk.run(listener);
    EXPECT_GT(report.epochs, 10u);
    EXPECT_GT(index.images(), 10u);
    std::vector<std::byte> replayed(initial.regions()[0].size);
    reader.load_initial_image(initial.regions()[0], replayed);
    const trace::RegionImage image = {initial.regions()[0], replayed};
    trace::replay_onto(reader, std::span(&image, 1));
    Hash128 hash;
    for (std::size_t at = 0; at < replayed.size(); at += trace::kLineBytes)
        hash +=
            line_hash((initial.regions()[0].base + at) / trace::kLineBytes, replayed.data() + at);
    EXPECT_EQ(last, hash);
    RecordProperty("images", static_cast<int>(index.images()));
}

} // namespace
} // namespace fencepost::image
