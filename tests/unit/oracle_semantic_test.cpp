// SPDX-License-Identifier: GPL-2.0-or-later
// What operations may leave under the promise `fsync`: what it lets pass and what not.
// tests/unit/oracle_promise_test.cpp has `strict`, `sync` and single fields.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

using run::kFsync;
using run::kStrict;

Promise with(Promise promise, const char *field, const char *value)
{
    run::set_field(promise, field, value);
    return promise;
}

const Promise kLags = with(kFsync, "sizes_lag", "true");
const Promise kStale = with(kLags, "bytes", "any");

TEST(FsyncPromise, AnyPrefixWithoutASync)
{
    Past past;
    past.then(root({file("a", 12, "")})).then(root({file("a", 12, ""), file("b", 13, "")}));
    EXPECT_EQ(kind(past.at_end(root())), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 13, "")}))), "missing a")
        << "a journal recovers to a prefix";
}

TEST(FsyncPromise, SyncIsAFloor)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root({file("b", 12, "A")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "A")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root())), "missing b");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, " ")}))), "zeros a") << "synced bytes stay";
    // Before sync has returned nothing is promised.
    EXPECT_EQ(kind(past.judge(root(), {1, 2})), "legal");
}

TEST(FsyncPromise, FsyncOfAFileIsAFloorForWhatHappenedUpToItsLastChange)
{
    Past past;
    past.then(root({directory("d", 20)}))
        .then(root({file("a", 12, "A"), directory("d", 20)}))
        .then(root({file("a", 12, "A")})) // rmdir d
        .sync(Durable::file, 12);
    EXPECT_EQ(durable_state(past.history, {4, 4}, {}), 2u);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), directory("d", 20)}))), "legal")
        << "rmdir was not synced";
    EXPECT_EQ(kind(past.at_end(root({directory("d", 20)}))), "missing a");
}

TEST(FsyncPromise, BytesAloneAreNoFloorForTheTree)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "A"), directory("d", 20)}))
        .then(root({file("a", 12, "B"), directory("d", 20)})) // in place
        .sync(Durable::file, 12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "B")}))), "legal")
        << "the directory was not synced";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}))), "bytes a") << "the bytes were";
}

TEST(FsyncPromise, RenamesAndModesAreSyncedByFsyncAndNotByFdatasync)
{
    for (const Durable durable : {Durable::file, Durable::file_data}) {
        Past past;
        TreeEntry secret = file("b", 12, "A");
        secret.mode = 0600;
        past.then(root({file("a", 12, "A")}))
            .sync(Durable::all)
            .then(root({secret}))
            .sync(durable, 12);
        EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}))),
                  durable == Durable::file ? "missing b" : "legal");
    }
}

TEST(FsyncPromise, FdatasyncMakesSizeAndBytesDurable)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "AB")}))
        .sync(Durable::file_data, 12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}))), "size a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A ")}))), "zeros a");
}

TEST(FsyncPromise, ARenameOfADirectoryIsNoChangeOfWhatIsInIt)
{
    Past past;
    past.then(root({directory("d", 20)}))
        .then(root({directory("d", 20), file("d/a", 12, "A")}))
        .sync(Durable::file, 12)
        .then(root({directory("e", 20), file("e/a", 12, "A")}));
    const Entries before = root({directory("d", 20), file("d/a", 12, "A")});
    past.sync(Durable::file, 12);
    EXPECT_EQ(kind(past.at_end(before)), "legal") << "the file is clean";
    EXPECT_EQ(kind(past.at_end(root({directory("d", 20)}))), "missing d/a");
    past.sync(Durable::file, 20);
    EXPECT_EQ(kind(past.at_end(before)), "missing e") << "the directory is not";
}

TEST(FsyncPromise, AMoveToAnotherDirectoryIsAChange)
{
    Past past;
    const auto at = [](const char *path) {
        return root({directory("d", 20), directory("e", 21), file(path, 12, "A")});
    };
    past.then(at("d/a")).sync(Durable::all).then(at("e/a"));
    EXPECT_EQ(kind(past.at_end(at("d/a"))), "legal");
    past.sync(Durable::file, 12);
    EXPECT_EQ(kind(past.at_end(at("d/a"))), "missing e/a");
}

TEST(FsyncPromise, AnExchangeIsAChangeOfTheDirectoryAlone)
{
    Past past;
    const Entries before = root({file("a", 12, "A"), file("b", 13, "BB")});
    const Entries after = root({file("a", 13, "BB"), file("b", 12, "A")});
    past.then(before).sync(Durable::all).then(after);
    past.history.states.back().exchanged = true;
    past.sync(Durable::file, 12).sync(Durable::file, 13);
    EXPECT_TRUE(past.at_end(before).legal);
    EXPECT_TRUE(past.at_end(after).legal);
    past.sync(Durable::file, 2);
    EXPECT_FALSE(past.at_end(before).legal);
    EXPECT_TRUE(past.at_end(after).legal);
}

TEST(FsyncPromise, FdatasyncOfAFileWithoutANameSaysNothingOfItsUnlink)
{
    for (const Durable durable : {Durable::file, Durable::file_data}) {
        Past past;
        past.then(root({file("a", 12, "A")}))
            .sync(Durable::file, 12)
            .then(root())
            .sync(durable, 12);
        EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}))),
                  durable == Durable::file ? "unexpected a" : "legal");
        EXPECT_EQ(durable_state(past.history, {2, 2}, {}), 1u) << "what came before still holds";
        EXPECT_EQ(kind(past.at_end(root())), "legal");
    }
}

TEST(FsyncPromise, BytesWrittenToAFileWithoutANameAreNotKnown)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root());
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Z")}))), "unexpected a");
    past.sync(Durable::nothing, 12); // a write through a descriptor
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Z")}))), "legal")
        << "in place, before the unlink";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "ZZ")}))), "unexpected a");
    past.then(root({file("b", 12, "B")}));
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "Z")}))), "garbage b") << "another file";
}

TEST(FsyncPromise, BytesInFlightAreOldNewOrZeroWhereThereWasNothing)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root({file("a", 12, "BC")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AC")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "B ")}))), "legal") << "the second block is new";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, " C")}))), "zeros a")
        << "the first one never was zero";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BD")}))), "garbage a");
}

TEST(FsyncPromise, ATornBlockIsJudgedByteByByte)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root({file("a", 12, "B")}));
    agent::TreeDump torn = dump(root({file("a", 12, "?")}));
    torn.blocks.push_back({'?', std::string(100, 'B') + std::string(agent::kTreeBlock - 100, 'A')});
    const OperationSpan end = {3, 3};
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, kFsync)), "legal");
    torn.blocks[0].bytes[50] = 'x';
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, kFsync)), "garbage a");
    torn.blocks[0].bytes[50] = 0;
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, kFsync)), "zeros a");
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, kStrict)), "bytes a") << "atomic";
    torn.blocks.clear();
    EXPECT_TRUE(judge_tree(torn, past.history, end, kFsync).undecided) << "nobody can say";
}

TEST(FsyncPromise, ARangeThatWasSyncedIsDurableAlone)
{
    Past past;
    past.then(root({file("a", 12, "AA")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "BB")}))
        .sync(Durable::file_data, 12);
    past.history.states.back().range = {0, agent::kTreeBlock};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}))), "bytes a");
    past.history.states.back().range = {agent::kTreeBlock, agent::kTreeBlock};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}))), "bytes a");
}

// The first `count` bytes of a block are of one letter, the rest of another.
agent::TreeDump mixed(std::size_t count, char first, char rest)
{
    agent::TreeDump result = dump(root({file("a", 12, "?")}));
    const auto byte = [](char letter) { return letter == ' ' ? '\0' : letter; };
    result.blocks.push_back({'?', std::string(count, byte(first)) +
                                      std::string(agent::kTreeBlock - count, byte(rest))});
    return result;
}

TEST(FsyncPromise, AWriteThatSyncsMakesItsBytesDurableAndNoOthers)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "B")}))
        .then(root({file("a", 12, "C")}), Durable::file, 12);
    past.history.states.back().range = {0, 100};
    const auto verdict = [&](const agent::TreeDump &tree) {
        return kind(judge_tree(tree, past.history, {4, 4}, kFsync));
    };
    EXPECT_EQ(verdict(mixed(100, 'C', 'A')), "legal") << "the write before it was not synced";
    EXPECT_EQ(verdict(mixed(100, 'C', 'B')), "legal");
    EXPECT_EQ(verdict(mixed(99, 'C', 'A')), "bytes a");
    EXPECT_EQ(verdict(mixed(100, 'B', 'C')), "bytes a");
    EXPECT_EQ(verdict(mixed(100, ' ', 'C')), "zeros a");
    EXPECT_EQ(verdict(mixed(100, 'C', 'Z')), "garbage a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "C")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "B")}))), "bytes a") << "a whole block that was";
    // Before the write has returned it promises nothing.
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {3, 4})), "legal");
}

TEST(FsyncPromise, ARangeOverBlocksPromisesPartsOfThem)
{
    Past past;
    past.then(root({file("a", 12, "AAA")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "BBB")}), Durable::file_data, 12);
    past.history.states.back().range = {agent::kTreeBlock / 2, 2 * agent::kTreeBlock};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BBB")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BAB")}))), "bytes a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "ABB")}))), "bytes a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BBA")}))), "bytes a");
}

TEST(FsyncPromise, BytesThatWereSyncedBeforeTheFileHadANameAreDurable)
{
    const auto linked = [](auto change) {
        Past past;
        past.sync(Durable::nothing, 12) // a write
            .sync(Durable::file, 12)
            .then(root({file("a", 12, "A")}));
        past.history.states.back().call = SYS_linkat;
        change(past.history.states);
        return kind(past.at_end(root({file("a", 12, " ")})));
    };
    EXPECT_EQ(linked([](auto &) {}), "zeros a");
    EXPECT_EQ(linked([](auto &states) { states[2].durable = Durable::all; }), "zeros a");
    EXPECT_EQ(linked([](auto &states) { std::swap(states[1], states[2]); }), "legal")
        << "written again after fsync";
    EXPECT_EQ(linked([](auto &states) { states[2].inode = 13; }), "legal")
        << "another file's fsync";
    EXPECT_EQ(linked([](auto &states) { states[2].range = {0, 1}; }), "legal");
    EXPECT_EQ(linked([](auto &states) { states[3].call = SYS_openat; }), "legal") << "a new file";
}

TEST(FsyncPromise, FdatasyncSaysNothingOfTheLinkThatNamesAFile)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::file_data, 12);
    EXPECT_EQ(kind(past.at_end(root())), "missing a") << "it was made with its name";
    past.history.states[1].call = SYS_linkat;
    EXPECT_EQ(kind(past.at_end(root())), "legal");
}

TEST(FsyncPromise, ASyncInProgressPromisesNothing)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "B")}))
        .sync(Durable::file, 12);
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {3, 4})), "legal");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {4, 4})), "bytes a");
}

TEST(FsyncPromise, ANumberThatIsUsedAgainIsAnotherFile)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root())
        .then(root({file("b", 12, "B")}));
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, " ")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "A")}))), "garbage b") << "another file's bytes";
}

TEST(FsyncPromise, DelayedAllocationLetsSizesLag)
{
    Past past;
    past.then(root({file("a", 12, "")}))
        .then(root({file("a", 12, "A")}))
        .then(root({file("b", 12, "A")}));
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "")}))), "size b");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "")}), kLags)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "Z")}), kLags)), "garbage b");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "Z")}), kStale)), "legal")
        << "as data=writeback says";
    past.sync(Durable::file, 12);
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "")}), kLags)), "size b");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "Z")}), kStale)), "bytes b");
}

TEST(FsyncPromise, AWriteThatSyncsMakesTheSizeDurableAsFarAsItWent)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "ABC")}))
        .sync(Durable::file_data, 12);
    agent::TreeRange &range = past.history.states.back().range;
    const auto shorter = [&](const char *letters) {
        return kind(past.at_end(root({file("a", 12, letters)}), kLags));
    };
    range = {0, agent::kTreeBlock};
    EXPECT_EQ(shorter("A"), "legal") << "the end of the file was not synced";
    range = {2 * agent::kTreeBlock, 10};
    EXPECT_EQ(shorter("A"), "size a");
    EXPECT_EQ(shorter("ABC"), "legal");
    range = {0, 9 * agent::kTreeBlock}; // pages behind the end
    EXPECT_EQ(shorter("ABC"), "legal");
    range = {};
    EXPECT_EQ(shorter("A"), "size a");
}

} // namespace
} // namespace fencepost::oracle
