// SPDX-License-Identifier: GPL-2.0-or-later
// Crash images against plain ways to get the same bytes: replaying the trace, applying chosen
// pieces one by one, hashing whole images.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "pm_images_fixture.h"
#include "replayer/image/image_export.h"
#include "tests/golden/trace_text.h"
#include "tests/model/reference_model.h"
#include "tests/states/small_trace_file.h"
#include "trace/replay.h"

namespace fencepost::image {
namespace {

using model::ReferenceModel;

// PM of a small trace that has a set of its pieces and no other.
Bytes bytes_by_definition(const ReferenceModel &reference, ReferenceModel::PieceSet set,
                          const std::vector<trace::Event> &events, const std::vector<Bytes> &values)
{
    Bytes image(trace::kSmallTraceBytes);
    for (std::size_t p = 0; p < reference.parts().size(); ++p) {
        if (!(set >> p & 1))
            continue;
        const ReferenceModel::Part &part = reference.parts()[p];
        const trace::Event &store = events[part.event];
        for (unsigned byte = 0; byte < store.size; ++byte)
            if ((store.address + byte) / 8 == part.unit)
                image[store.address + byte - trace::kSmallTraceBase] = values[part.event][byte];
    }
    return image;
}

// Every state of every small trace, by definition and as bytes.
TEST_F(CrashImages, SmallTracesHaveTheImagesOfTheirDefinition)
{
    const std::uint64_t base = trace::kSmallTraceBase;
    model::SmallTraces source(99);
    std::uint64_t compared = 0;
    for (unsigned round = 0; round < 50; ++round) {
        const std::vector<trace::Event> events = source.next();
        const std::vector<Bytes> values = trace::write_small_trace(path(), events);
        const trace::TraceReader reader(path());
        const InitialImage initial(reader);
        const ReferenceModel reference(events, model::SmallTraces::wide_values());
        for (unsigned way = 0; way < 6; ++way) {
            const auto kind = static_cast<ModelKind>(way % 3);
            const auto rule = static_cast<model::FenceRule>(way / 3);
            const auto closed = reference.closed_sets(kind);
            std::map<std::uint64_t, std::set<std::string>> listed; // by crash point
            std::map<std::uint64_t, std::uint64_t> counts;
            Listener listener(initial, [&](const StateView &state, StateImages &images) {
                const Hash128 hash = images.hash(state);
                EXPECT_EQ(hash, hash_of(base, bytes_of(state, images)));
                listed[state.point.seq].insert(hash.hex());
                ++counts[state.point.seq];
                return true;
            });
            states::StateWalk walk(reader,
                                   {.model = kind,
                                    .fences = rule,
                                    .strategies = states::parse_strategies("exhaustive:1048576"),
                                    .grouping = states::Grouping::off});
            walk.run(listener);
            for (const states::EpochCount &epoch : listener.epochs) {
                const std::uint64_t seq = epoch.point.seq;
                const auto expected = reference.states(closed, reference.executed_parts(seq),
                                                       reference.guaranteed_parts(seq, kind, rule));
                ASSERT_EQ(epoch.legal.exact, expected.count);
                ASSERT_EQ(counts[seq], expected.count);
                std::set<std::string> hashes;
                for (ReferenceModel::PieceSet set = 0; set < 1u << reference.parts().size(); ++set)
                    if (expected.sets[set])
                        hashes.insert(
                            hash_of(base, bytes_by_definition(reference, set, events, values))
                                .hex());
                ASSERT_EQ(listed[seq], hashes) << "round " << round << ", before event " << seq;
                compared += hashes.size();
            }
        }
    }
    EXPECT_GT(compared, 2000u);
}

// Runs that were written twice, cached and not, at every level.
TEST_F(CrashImages, TornRunsHaveTheIdentityOfTheirBytes)
{
    std::string text;
    for (const std::string kind : {"nt_store", "store"})
        for (unsigned pass = 1; pass <= 2; ++pass)
            for (unsigned place = 0; place < 48; ++place)
                text +=
                    kind + " pmem0+" +
                    std::to_string((kind == "store" ? 8192 : 0) + place / 3 * 64 + place % 3 * 8) +
                    " 8 = " + std::to_string(100 * pass + place) + " @pass" + std::to_string(pass) +
                    "+" + std::to_string(place % 3) + "\n";
    golden::write_trace(text, path());
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    std::set<std::uint64_t> levels;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        EXPECT_EQ(images.hash(state), hash_of(reader.regions()[0].base, bytes_of(state, images)));
        for (const states::ItemLevel &each : state.levels.exceptions)
            levels.insert(each.level);
        return true;
    });
    states::StateWalk walk(reader,
                           {.strategies = states::parse_strategies("torn,subsets:2,random:50")});
    walk.run(listener);
    EXPECT_TRUE(levels.contains(states::kRunFirstPieces));
    EXPECT_GT(levels.size(), 9u + 10);
}

// A straightforward replay of the trace up to each failure point, which comes once.
TEST_P(PmImages, PrefixIsAReplay)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    std::set<std::pair<unsigned, unsigned>> paths;
    unsigned points = 0;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        EXPECT_TRUE(state.point.failure_point);
        trace::EventScan scan =
            reader.scan({.first_seq = state.point.seq, .last_seq = state.point.seq});
        EXPECT_TRUE(scan.next());
        scan.visit_block([&](std::uint64_t, const trace::Event &event, auto) {
            EXPECT_TRUE(event.kind == trace::EventKind::flush ||
                        event.kind == trace::EventKind::fence);
            EXPECT_TRUE(paths.emplace(event.site, event.stack).second) << "a failure point twice";
        });
        const trace::Region region = reader.regions()[0];
        Bytes replayed(region.size);
        reader.load_initial_image(region, replayed);
        const trace::RegionImage image = {region, replayed};
        trace::replay_onto(reader, std::span(&image, 1), state.point.seq - 1);
        EXPECT_EQ(bytes_of(state, images), replayed);
        EXPECT_EQ(images.hash(state), hash_of(region.base, replayed));
        ++points;
        return true;
    });
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("prefix")});
    const states::WalkReport report = walk.run(listener);
    EXPECT_EQ(report.failure_points, points);
    EXPECT_GT(points, 40u);
}

TEST_P(PmImages, IdentityIsThatOfTheBytes)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    const std::uint64_t base = reader.regions()[0].base;
    for (const auto grouping :
         {states::Grouping::off, states::Grouping::automatic, states::Grouping::run})
        for (const auto kind : {ModelKind::adr, ModelKind::eadr, ModelKind::line}) {
            unsigned compared = 0;
            std::uint64_t seen = 0;
            Listener listener(initial, [&](const StateView &state, StateImages &images) {
                if (seen++ % (kind == ModelKind::eadr ? 97 : 31) == 0) {
                    EXPECT_EQ(images.hash(state), hash_of(base, bytes_of(state, images)));
                    ++compared;
                }
                return true;
            });
            states::StateWalk walk(
                reader, {.model = kind,
                         .strategies = states::parse_strategies(
                             "none-all,torn,random:3,exhaustive:5,accumulate,accumulate-reverse,"
                             "subsets:1"),
                         .window = {.last_seq = 5000},
                         .grouping = grouping});
            const states::WalkReport report = walk.run(listener);
            EXPECT_GT(compared, 5u);
            EXPECT_EQ(report.runs == 0, grouping == states::Grouping::off);
        }
}

TEST_P(PmImages, ExportedImagesAndDeltas)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    unsigned seen = 0;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        if (++seen % 40)
            return true;
        const ImageDelta delta = {.state = "some-state",
                                  .regions = {initial.regions().begin(), initial.regions().end()},
                                  .identity = images.hash(state),
                                  .lines = images.difference_from_initial(state)};
        const auto file = directory_.path() / "image.delta";
        write_delta(file, delta);
        const ImageDelta read = read_delta(file);
        EXPECT_EQ(read, delta);
        const auto made = write_image(directory_.path() / "image", initial, read, Overwrite::yes);
        EXPECT_EQ(made.size(), 1u);
        const std::string text = read_file(made[0]);
        const auto bytes = std::as_bytes(std::span(text));
        EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), bytes_of(state, images));
        ImageDelta foreign = read;
        if (!foreign.lines.empty()) {
            foreign.lines.pop_back();
            EXPECT_THROW(write_image(directory_.path() / "other", initial, foreign, Overwrite::yes),
                         Error);
        }
        return true;
    });
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("random:2")});
    walk.run(listener);
    EXPECT_GT(seen, 80u);
}

TEST_P(PmImages, TheLastLineCounts)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    const trace::Region region = reader.regions()[0];
    const std::uint64_t last = (region.base + region.size) / trace::kLineBytes - 1;
    ChangingImage image(initial);
    const std::uint64_t value = 0x5555;
    image.write(last, 56, &value, sizeof value);
    Bytes bytes(region.size);
    reader.load_initial_image(region, bytes);
    std::memcpy(bytes.data() + region.size - sizeof value, &value, sizeof value);
    EXPECT_EQ(image.hash(), hash_of(region.base, bytes));
    std::vector<std::uint64_t> written;
    image.for_each_written([&](std::uint64_t line) { written.push_back(line); });
    EXPECT_EQ(written, std::vector<std::uint64_t>{last});
}

INSTANTIATE_TEST_SUITE_P(Work, PmImages, testing::Values("tidy", "forgetful", "mixed"),
                         [](const auto &shape) { return std::string(shape.param); });

} // namespace
} // namespace fencepost::image
