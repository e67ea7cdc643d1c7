// SPDX-License-Identifier: GPL-2.0-or-later
// One crash state laid open, and exported.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/image/image_export.h"
#include "replayer/image/state_contents.h"
#include "replayer/image/state_delta.h"
#include "replayer/states/trace_options.h"
#include "tests/golden/trace_text.h"

namespace fencepost::image {
namespace {

using states::Item;

// A cached line of two stores to one unit, and a line of two units that goes around the cache.
constexpr const char *kTrace = "region pmem0 0x1000000 4096\n"
                               "store pmem0+0x40 8 = 1 @put\n"
                               "store pmem0+0x40 8 = 2 @put\n"
                               "nt_store pmem0+0x80 16 = *3 @copy\n"
                               "fence sfence @done\n";

class OneState : public testing::Test {
protected:
    static trace::TraceReader made(const char *text, const std::filesystem::path &path)
    {
        golden::write_trace(text, path);
        return trace::TraceReader(path);
    }
    // At the fence.
    states::CrashState state(const std::string &choice) const
    {
        return states::parse_crash_state(reader_.recording().event_digest.substr(0, 8) + "-aea-3-" +
                                         choice);
    }

    const TemporaryDirectory directory_{"/tmp", "fp-state-"};
    const trace::TraceReader reader_ = made(kTrace, directory_.path() / "trace.db");
    const InitialImage initial_{reader_};
};

TEST_F(OneState, SaysOfEachPieceWhetherItIsInPm)
{
    const StateContents contents = contents_of(reader_, initial_, state("n+0.1+2.1"), {});
    EXPECT_EQ(contents.state, state("n+0.1+2.1"));
    EXPECT_EQ(contents.lines_changed, 2u);
    EXPECT_TRUE(contents.architectural);
    EXPECT_FALSE(contents.items.at(0).part);
    // kind, level of levels: offset in PM, size, persisted
    std::string text;
    for (const StateItem &item : contents.items) {
        text += fmt::format("{} {}/{}:", item.kind == Item::Kind::unit ? "unit" : "chain",
                            item.level, item.levels);
        for (const StateLine &line : item.lines)
            for (const StatePiece &piece : line.pieces)
                text += fmt::format(" {:x}+{}{}{}", piece.address - 0x1000000, piece.size,
                                    piece.non_temporal ? "n" : "", piece.persisted ? "!" : "");
        text += "\n";
    }
    EXPECT_EQ(text, "chain 1/3: 40+8! 40+8\nunit 0/2: 80+8n\nunit 1/2: 88+8n!\n");
    EXPECT_EQ(contents.items[0].lines[0].pieces[1].store.seq, 1u);
}

TEST_F(OneState, OfARunSaysWhereItIsCut)
{
    std::string stores = "region pmem0 0x1000000 4096\n";
    for (unsigned line = 0; line < 16; ++line)
        stores += fmt::format("nt_store pmem0+{} 64 = *1 @copy\n", line * 64);
    const trace::TraceReader reader =
        made((stores + "fence sfence @done\n").c_str(), directory_.path() / "run.db");
    states::CrashState middle = state("n+0.2");
    middle.trace = reader.recording().event_digest.substr(0, 8);
    middle.seq = 16;
    const StateContents contents = contents_of(reader, InitialImage(reader), middle, {});
    ASSERT_EQ(contents.items.size(), 1u);
    EXPECT_EQ(contents.items[0].kind, Item::Kind::run);
    EXPECT_EQ(contents.items[0].lines.size(), 16u);
    ASSERT_TRUE(contents.items[0].part);
    EXPECT_EQ(contents.items[0].part->lines, 8u);
    EXPECT_TRUE(contents.items[0].lines[7].pieces[7].persisted);
    EXPECT_FALSE(contents.items[0].lines[8].pieces[7].persisted);
}

// Either file is the image that contents_of() has.
TEST_F(OneState, IsExportedAsAnImageOrAsADelta)
{
    const ImageDelta delta = delta_of(reader_, initial_, state("a"), {});
    EXPECT_EQ(delta.identity, contents_of(reader_, initial_, state("a"), {}).identity);
    const auto image = directory_.path() / "pm";
    const auto small = directory_.path() / "pm.delta";
    using Paths = std::vector<std::filesystem::path>;
    EXPECT_EQ(export_image(image, initial_, delta, Overwrite::no), Paths{image});
    EXPECT_EQ(export_image(small, initial_, delta, Overwrite::no), Paths{small});
    EXPECT_EQ(std::filesystem::file_size(image), 4096u);
    EXPECT_EQ(read_delta(small), delta);

    EXPECT_THROW(check_export(image, 1, Overwrite::no), Error);
    EXPECT_THROW(check_export(small, 2, Overwrite::no), Error);
    check_export(image, 2, Overwrite::no); // it is image-NAME that will be written
    check_export(image, 1, Overwrite::yes);
}

TEST_F(OneState, WindowAndIncidentalFencesAreOfTheTrace)
{
    const states::WalkOptions walk = states::in_trace({}, reader_, "seq:1-2", {"none", "done"});
    EXPECT_EQ(walk.window.first_seq, 1u);
    EXPECT_EQ(walk.window.last_seq, 2u);
    EXPECT_EQ(walk.incidental.functions().size(), 1u);
    EXPECT_EQ(states::in_trace({}, reader_, "", {"none"}).window.last_seq, UINT64_MAX);
    EXPECT_EQ(states::meaning_of_ids({}), "model=adr fences=explicit group=auto");
    EXPECT_EQ(states::meaning_of_ids(walk),
              "model=adr fences=explicit group=auto incidental=" + walk.incidental.digest());
}

} // namespace
} // namespace fencepost::image
