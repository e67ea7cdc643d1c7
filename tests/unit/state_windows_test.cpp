// SPDX-License-Identifier: GPL-2.0-or-later
// Windows of crash points, and where the promise changes.
#include "base/error.h"
#include "states_fixture.h"

namespace fencepost::states {
namespace {

TEST_F(States, Windows)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "one"
store pmem0+0x40 8 = 1
flush clflush pmem0+0x40
op_end 1
op_begin 2 "two"
store pmem0+0x40 8 = 2
store pmem0+0x48 8 = 2
op_end 2
checkpoint 7
store pmem0+0x50 8 = 3
flush clflush pmem0+0x40
checkpoint 8
)");
    const auto within = [&](std::string_view window) {
        return ids(reader, "all", {.window = parse_window(window, reader)});
    };
    EXPECT_EQ(ids(reader, "all"), (List{"aea-2-a", "aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("op:1"), (List{"aea-2-a", "aea-4-a"}));
    EXPECT_EQ(within("op:2"), (List{"aea-7-a", "aea-8-a"}));
    EXPECT_EQ(within("op:1-2"), (List{"aea-2-a", "aea-7-a", "aea-8-a"}));
    EXPECT_EQ(ids(reader, "returns", {.window = parse_window("op:2", reader)}),
              (List{"aea-4-a", "aea-8-a"}));
    EXPECT_EQ(within("checkpoint:7-8"), (List{"aea-8-a", "aea-10-a", "aea-11-a"}));
    EXPECT_EQ(within("checkpoint:7-"), (List{"aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("seq:5-6"), (List{"aea-6-a"}));
    EXPECT_EQ(within("seq:5-"), (List{"aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("epoch:0"), (List{"aea-2-a"}));
    EXPECT_EQ(within("epoch:1-2"), (List{"aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    for (const char *text : {"", "seq", "seq:", "seq:x", "seq:5-3", "seq:99", "op:3", "op:1-9",
                             "checkpoint:1-2", "lines:1-2", "seq:1-2-3", "epoch:-1"})
        EXPECT_THROW(parse_window(text, reader), Error) << text;
}

// From the first thing that a function does to the fence behind the last, also in what it calls.
TEST_F(States, WindowsOfAFunction)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @other
flush clflush pmem0+0x40 @other
store pmem0+0x40 8 = 2 @set ^insert.part.0<main
flush clwb pmem0+0x40 @set ^insert.part.0<main
store pmem0+0x80 8 = 2 @other ^main
fence sfence @drain ^main
store pmem0+0xc0 8 = 3 @other ^main
flush clflush pmem0+0xc0 @other ^main
store pmem0+0x100 8 = 4 @insert ^main
flush clwb pmem0+0x100 @insert ^main
fence sfence @drain ^insert<main
store pmem0+0x140 8 = 5 @other ^main
flush clflush pmem0+0x140 @other ^main
)");
    const auto within = [&](std::string_view window) {
        return ids(reader, "all", {.window = parse_window(window, reader)});
    };
    EXPECT_EQ(ids(reader, "all"),
              (List{"aea-1-a", "aea-5-a", "aea-7-a", "aea-10-a", "aea-12-a", "aea-13-a"}));
    EXPECT_EQ(within("function:insert"), (List{"aea-5-a", "aea-10-a"}));
    EXPECT_EQ(within("function:insert.isra.3"), (List{"aea-5-a", "aea-10-a"}));
    EXPECT_EQ(within("function:set"), (List{"aea-5-a"}));
    EXPECT_EQ(within("function:drain"), (List{"aea-5-a", "aea-10-a"}));
    for (const char *text : {"function:", "function", "function:inser", "function:nobody"})
        EXPECT_THROW(parse_window(text, reader), Error) << text;
    try {
        parse_window("function:insrt", reader);
    } catch (const Error &error) {
        EXPECT_STREQ(error.what(), "the trace has no function 'insrt'; did you mean insert?");
    }
}

TEST_F(States, PowerDoesNotFailBeforeTheMark)
{
    const auto states = [&](const std::string &text) {
        const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1
flush clflush pmem0+0x40
checkpoint 0 ")" + text + R"("
store pmem0+0x40 8 = 2
flush clflush pmem0+0x40
)");
        return ids(reader, "all", {.window = parse_window("seq:0-", reader)});
    };
    EXPECT_EQ(states("mark"), (List{"aea-4-a", "aea-5-a"}));
    EXPECT_EQ(states("another"), (List{"aea-1-a", "aea-4-a", "aea-5-a"}));
}

// An operation has returned and the next has not begun: that pair of image and promise is one of
// its own. Where the promise stays what it was there is nothing to see.
TEST_F(States, WhereThePromiseChanges)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "create a"
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
op_end 1
op_begin 2 "unlink a"
store pmem0+0x80 8 = 1
fence sfence
op_end 2
)");
    EXPECT_EQ(ids(reader, "all"), (List{"aea-3-a", "aea-4-a", "aea-6-a", "aea-7-a", "aea-8-a"}));
    const PromiseAt second_begins = [](std::uint64_t seq) { return std::uint64_t{seq > 4}; };
    EXPECT_EQ(ids(reader, "all", {.promise = second_begins}),
              (List{"aea-4-a", "aea-6-a", "aea-8-a"}));
    const PromiseAt never = [](std::uint64_t) { return std::uint64_t{0}; };
    EXPECT_EQ(ids(reader, "all", {.promise = never}), (List{"aea-6-a", "aea-8-a"}));
}

// A path counts as new where the window is, not where the trace begins.
TEST_F(States, FailurePointsInAWindow)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @a
flush clwb pmem0+0x40 @f ^x
store pmem0+0x40 8 = 2 @a
flush clwb pmem0+0x40 @f ^x
store pmem0+0x40 8 = 3 @a
flush clwb pmem0+0x40 @f ^x
)");
    EXPECT_EQ(ids(reader, "prefix"), (List{"aea-1-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 2}}), (List{"aea-3-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 4, .last_seq = 5}}), List{});
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 4}}), (List{"aea-5-a"}));
}

} // namespace
} // namespace fencepost::states
