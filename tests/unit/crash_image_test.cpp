// SPDX-License-Identifier: GPL-2.0-or-later
// Crash images against plain ways to get the same bytes: replaying the trace, applying chosen
// pieces one by one, hashing whole images.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/image/image_export.h"
#include "replayer/image/image_index.h"
#include "replayer/image/image_stream.h"
#include "replayer/image/patched_image.h"
#include "replayer/image/state_images.h"
#include "tests/golden/trace_text.h"
#include "tests/model/reference_model.h"
#include "tests/states/image_listener.h"
#include "tests/states/pm_work.h"
#include "tests/states/small_trace_file.h"
#include "trace/replay.h"

namespace fencepost::image {
namespace {

using model::ModelKind;
using states::StateView;
using Bytes = std::vector<std::byte>;

Hash128 hash_of(std::uint64_t base, std::span<const std::byte> bytes)
{
    Hash128 sum;
    for (std::size_t at = 0; at < bytes.size(); at += 64)
        sum += line_hash((base + at) / 64, bytes.data() + at);
    return sum;
}

class CrashImages : public testing::Test {
protected:
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    // The bytes of a state: what is guaranteed, and the lines that hold more.
    static Bytes bytes_of(const StateView &state, StateImages &images)
    {
        const auto guaranteed = images.images().guaranteed().region(0);
        Bytes bytes(guaranteed.begin(), guaranteed.end());
        std::vector<LineContent> lines;
        images.lines_in_flight(state, lines);
        for (const LineContent &each : lines)
            std::memcpy(bytes.data() + (each.line * 64 - images.initial().regions()[0].base),
                        each.bytes.data(), 64);
        return bytes;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "crash_image"};
};

// Every state of every small trace, by definition and as bytes.
TEST_F(CrashImages, SmallTracesHaveTheImagesOfTheirDefinition)
{
    using model::ReferenceModel;
    constexpr std::uint64_t kSize = trace::kSmallTraceBytes;
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
                for (ReferenceModel::PieceSet set = 0; set < 1u << reference.parts().size();
                     ++set) {
                    if (!expected.sets[set])
                        continue;
                    Bytes image(kSize);
                    for (std::size_t p = 0; p < reference.parts().size(); ++p) {
                        if (!(set >> p & 1))
                            continue;
                        const ReferenceModel::Part &part = reference.parts()[p];
                        const trace::Event &store = events[part.event];
                        for (unsigned byte = 0; byte < store.size; ++byte)
                            if ((store.address + byte) / 8 == part.unit)
                                image[store.address + byte - base] = values[part.event][byte];
                    }
                    hashes.insert(hash_of(base, image).hex());
                }
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

class PmImages : public CrashImages, public testing::WithParamInterface<const char *> {
protected:
    PmImages()
    {
        const std::string shape = GetParam();
        trace::PmWork({.pm_bytes = 1 << 20,
                       .data_pages = 1,
                       .forgetful = shape != "tidy",
                       .mixed_lines = shape == "mixed",
                       .vcpus = shape == "tidy" ? 1u : 3u})
            .write(path(), 12000);
    }
};

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

// One mapping that is patched from state to state holds each of them, and little is written.
TEST_P(PmImages, PatchingReachesEveryState)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    Bytes mapping(reader.regions()[0].size, std::byte{0xee});
    std::unique_ptr<PatchedImage> patched;
    std::uint64_t seen = 0;
    std::size_t most_lines = 0;
    Listener *self = nullptr;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        if (!patched)
            patched = std::make_unique<PatchedImage>(self->images(),
                                                     std::vector<std::span<std::byte>>{mapping});
        if (++seen % 3 == 0)
            return true; // not every state is shown: others happen in between
        const std::size_t lines = patched->show(state);
        if (seen > 1)
            most_lines = std::max(most_lines, lines);
        if (seen % 7 == 0) {
            EXPECT_EQ(mapping, bytes_of(state, images));
        }
        // A guest that wrote to PM, and a harness that noticed.
        mapping[640] = std::byte{0x55};
        patched->changed(reader.regions()[0].base / 64 + 10);
        return true;
    });
    self = &listener;
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("none-all,random:2"),
                                    .window = {.last_seq = 6000}});
    walk.run(listener);
    EXPECT_GT(seen, 50u);
    EXPECT_LT(most_lines, 400u);
}

// Images as values: two holders that take turns, fall behind and go back to an image from before,
// hold what they are shown.
TEST_P(PmImages, HeldImagesAreTheStatesThatTheyWereTakenFrom)
{
    const trace::TraceReader reader(path());
    const InitialImage initial(reader);
    std::unique_ptr<ImageStream> stream;
    std::vector<std::unique_ptr<HeldImage>> holders;
    Bytes shown(reader.regions()[0].size); // what the second holder told to have changed, applied
    std::uint64_t seen = 0;
    std::uint64_t compared = 0;
    std::uint64_t went_back = 0;
    CrashImage earlier;
    Bytes earlier_bytes;
    Listener *self = nullptr;
    Listener listener(initial, [&](const StateView &state, StateImages &images) {
        if (!stream) {
            stream = std::make_unique<ImageStream>(self->images());
            for (int i = 0; i < 2; ++i)
                holders.push_back(std::make_unique<HeldImage>(initial, stream->first()));
            stream->forget_first();
            std::memcpy(shown.data(), holders[1]->region(0).data(), shown.size());
        }
        if (++seen % 3 == 0) {
            stream->skip();
            return true;
        }
        const CrashImage image = stream->take(state, images.hash(state));
        HeldImage &holder = *holders[seen % 10 == 0];
        if (seen % 50 == 7) {
            earlier = image;
            earlier_bytes = bytes_of(state, images);
        } else if (seen % 50 == 40 && earlier.step) {
            went_back += earlier.step != image.step;
            for (HeldImage *each : {holders[0].get(), holders[1].get()}) {
                each->show(image, [](std::uint64_t) {});
                each->show(earlier, [](std::uint64_t) {});
                const auto held = each->region(0);
                EXPECT_TRUE(Bytes(held.begin(), held.end()) == earlier_bytes) << seen;
            }
            std::memcpy(shown.data(), holders[1]->region(0).data(), shown.size());
            earlier = {};
        }
        holder.show(image, [&](std::uint64_t line) {
            const std::uint64_t at = line * 64 - reader.regions()[0].base;
            if (seen % 10 == 0)
                std::memcpy(shown.data() + at, holder.region(0).data() + at, 64);
        });
        if (seen % 10 == 0 || seen % 7 == 0) {
            ++compared;
            const auto held = holder.region(0);
            EXPECT_TRUE(Bytes(held.begin(), held.end()) == bytes_of(state, images)) << seen;
            EXPECT_TRUE(seen % 10 != 0 || std::memcmp(shown.data(), held.data(), shown.size()) == 0)
                << "a change was not told";
        }
        return true;
    });
    self = &listener;
    states::StateWalk walk(reader, {.strategies = states::parse_strategies("none-all,random:2"),
                                    .window = {.last_seq = 6000}});
    walk.run(listener);
    EXPECT_GT(compared, 10u);
    EXPECT_GT(went_back, 2u);
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

TEST(LineHash, ZerosAreNothing)
{
    std::array<std::byte, 64> line = {};
    EXPECT_EQ(line_hash(7, line.data()), Hash128{});
    line[63] = std::byte{1};
    EXPECT_NE(line_hash(7, line.data()), line_hash(8, line.data()));
    const Hash128 hash = line_hash(7, line.data());
    EXPECT_EQ(hash_from_hex(hash.hex()), hash);
    EXPECT_EQ(hash_from_hex("xyz"), std::nullopt);
    for (const char wrong : {'g', 'A', '`', ' ', '/', ':'})
        EXPECT_EQ(hash_from_hex(std::string(31, '0') + wrong), std::nullopt) << wrong;
    Hash128 sum = {UINT64_MAX, 5};
    sum += {3, 1};
    EXPECT_EQ(sum, (Hash128{2, 7}));
    sum -= {3, 1};
    EXPECT_EQ(sum, (Hash128{UINT64_MAX, 5}));
}

TEST(ImageIndex, FindsEveryImageAgainBeyondItsMemory)
{
    const auto hash = [](std::uint64_t i) { return Hash128{i * 0x9e3779b97f4a7c15u, i}; };
    ImageIndex small(1);
    ImageIndex large;
    for (std::uint64_t round = 0; round < 3; ++round)
        for (std::uint64_t i = 1; i <= 5000; ++i)
            for (ImageIndex *index : {&small, &large}) {
                const auto added = index->add(hash(i), 0, {i, "n"});
                ASSERT_EQ(added.image, i);
                ASSERT_EQ(added.is_new, round == 0);
            }
    EXPECT_GT(small.spilled(), 0u);
    EXPECT_EQ(large.spilled(), 0u);
    EXPECT_EQ(small.images(), 5000u);
    EXPECT_EQ(small.origins(), 15000u);
    std::vector<std::uint64_t> seqs;
    small.for_each_origin(4321,
                          [&](const ImageIndex::Origin &origin) { seqs.push_back(origin.seq); });
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{4321, 4321, 4321}));
}

TEST(ImageIndex, GoesOnWithItsFile)
{
    const TemporaryDirectory directory(testing::TempDir(), "image_index");
    const ImageIndex::File file = {directory.path() / "images.db", "trace", "options"};
    {
        ImageIndex index(file);
        index.add({1, 1}, 0, {10, "n"});
        index.add({2, 2}, 0, {10, "a"});
        index.commit();
        index.add({3, 3}, 0, {11, "n"}); // not committed
    }
    ImageIndex index(file);
    EXPECT_EQ(index.images(), 2u);
    EXPECT_FALSE(index.add({2, 2}, 0, {20, "n"}).is_new);
    EXPECT_EQ(index.add({4, 4}, 0, {20, "a"}).image, 3u);
    EXPECT_EQ(index.add({4, 4}, 1, {20, "a"}).image, 4u) << "another thing is expected of it";
    ImageIndex::File other = file;
    other.trace = "another";
    EXPECT_THROW(ImageIndex{other}, Error);
}

TEST(ImageIndex, FilesOfOthersAreRefusedAndLeftAlone)
{
    const TemporaryDirectory directory(testing::TempDir(), "image_index");
    const std::filesystem::path text = directory.path() / "a text 100% ?kind=1#.db";
    const std::filesystem::path foreign = directory.path() / "foreign.db";
    write_file(text, "a text that somebody wrote and wants to keep");
    trace::Database(foreign, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        .execute("CREATE TABLE t (x)");
    for (const std::filesystem::path &path : {text, foreign}) {
        const std::string before = read_file(path);
        try {
            ImageIndex({path, "trace", "options"});
            FAIL() << path;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(std::string(error.what())
                          .find(path.string() + " is not an index of images: it is "),
                      std::string::npos)
                << error.what();
        }
        EXPECT_EQ(read_file(path), before);
    }
}

} // namespace
} // namespace fencepost::image
