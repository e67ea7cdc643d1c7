// SPDX-License-Identifier: GPL-2.0-or-later
// The promises `strict` and `sync`, and each field of a promise alone: one tree that it lets pass,
// and one that it does not. tests/unit/oracle_semantic_test.cpp has `fsync`.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

using run::kFsync;
using run::kStrict;
using run::kSync;

Promise with(Promise promise, const char *field, const char *value)
{
    run::set_field(promise, field, value);
    return promise;
}

// A file of less than a block: the bytes are `text`, then the rest of `letter`s up to `size`.
TreeEntry partial(std::uint64_t size, char hash)
{
    TreeEntry entry = file("a", 12, std::string(1, hash));
    entry.size = size;
    return entry;
}

Block block_of(const std::string &bytes)
{
    Block block = bytes;
    block.resize(agent::kTreeBlock, '\0');
    return block;
}

std::string verdict(const Past &past, const TreeEntry &found, const Block &bytes,
                    OperationSpan span, const Promise &promise)
{
    agent::TreeDump tree = dump(root({found}));
    tree.blocks.push_back({static_cast<std::uint64_t>('?'), bytes});
    return kind(judge_tree(tree, past.history, span, promise));
}

// One file of 100 letters, which is written over in part: [20, 60) becomes B.
class Overwrite : public testing::Test {
protected:
    Overwrite()
    {
        past_.history.blocks['o'] = block_of(std::string(100, 'A'));
        past_.history.blocks['n'] =
            block_of(std::string(20, 'A') + std::string(40, 'B') + std::string(40, 'A'));
        past_.then(root({partial(100, 'o')})).then(root({partial(100, 'n')}));
    }
    std::string found(const std::string &bytes, OperationSpan span, const Promise &promise)
    {
        return verdict(past_, partial(bytes.size(), '?'), block_of(bytes), span, promise);
    }

    Past past_;
    const OperationSpan writing_ = {1, 2};
    const OperationSpan written_ = {2, 2};
    const std::string torn_ = std::string(20, 'A') + std::string(17, 'B') + std::string(63, 'A');
};

TEST_F(Overwrite, SyncLetsTheWriteInProgressTear)
{
    EXPECT_EQ(found(torn_, writing_, kSync), "legal");
    EXPECT_EQ(found(torn_, written_, kSync), "bytes a") << "it has returned";
    EXPECT_EQ(found(torn_, writing_, kStrict), "bytes a") << "atomic";
}

TEST_F(Overwrite, BytesOutsideOfTheWriteStay)
{
    std::string outside = torn_;
    outside[5] = 'B';
    EXPECT_EQ(found(outside, writing_, kSync), "garbage a");
    std::string zero = torn_;
    zero[30] = '\0';
    EXPECT_EQ(found(zero, writing_, kSync), "zeros a");
}

TEST_F(Overwrite, AnyBytesMeansThoseOfTheBlocksThatChange)
{
    const Promise any = with(kSync, "bytes", "any");
    EXPECT_EQ(found(std::string(100, 'z'), writing_, any), "legal");
    EXPECT_EQ(found(std::string(100, 'z'), written_, any), "bytes a");
}

TEST_F(Overwrite, AtomicBytesThatNeedASync)
{
    const Promise atomic = with(kFsync, "bytes", "atomic");
    EXPECT_EQ(found(torn_, written_, kFsync), "legal");
    EXPECT_EQ(found(torn_, written_, atomic), "bytes a");
    EXPECT_EQ(found(std::string(100, 'A'), written_, atomic), "legal") << "not synced";
    past_.sync(Durable::file, 12);
    EXPECT_EQ(found(std::string(100, 'A'), {3, 3}, atomic), "bytes a");
}

TEST_F(Overwrite, DurableOnReturnOrAfterASync)
{
    EXPECT_EQ(found(std::string(100, 'A'), written_, kSync), "bytes a");
    EXPECT_EQ(found(std::string(100, 'A'), written_, with(kSync, "durable", "after_sync")),
              "legal");
}

// A file of 100 letters grows to 200 within its block.
class Append : public testing::Test {
protected:
    Append()
    {
        past_.history.blocks['o'] = block_of(std::string(100, 'A'));
        past_.history.blocks['n'] = block_of(std::string(100, 'A') + std::string(100, 'B'));
        past_.then(root({partial(100, 'o')})).then(root({partial(200, 'n')}));
    }
    std::string found(const std::string &bytes, OperationSpan span, const Promise &promise)
    {
        return verdict(past_, partial(bytes.size(), '?'), block_of(bytes), span, promise);
    }

    Past past_;
    const OperationSpan appending_ = {1, 2};
    const std::string zeros_ = std::string(100, 'A') + std::string(100, '\0');
    const std::string half_ = std::string(100, 'A') + std::string(50, 'B') + std::string(50, '\0');
};

TEST_F(Append, ASizeThatIsThereCoversItsBytes)
{
    const Promise uncovered = with(kSync, "size_covers_appends", "false");
    for (const std::string &bytes : {zeros_, half_}) {
        EXPECT_EQ(found(bytes, appending_, kSync), "zeros a");
        EXPECT_EQ(found(bytes, appending_, uncovered), "legal");
        EXPECT_EQ(found(bytes, {2, 2}, uncovered), "bytes a") << "it has returned";
        EXPECT_EQ(found(bytes, {2, 2}, kFsync), "legal");
        EXPECT_EQ(found(bytes, {2, 2}, with(kFsync, "size_covers_appends", "true")), "zeros a");
    }
    EXPECT_EQ(found(std::string(100, 'A'), appending_, kSync), "legal");
    EXPECT_EQ(found(std::string(100, 'A') + std::string(100, 'B'), appending_, kSync), "legal");
}

TEST_F(Append, ABlockWithTheHashOfAShorterFileIsNotCovered)
{
    // The dump has the known hash, and no bytes.
    const agent::TreeDump tree = dump(root({partial(200, 'o')}));
    EXPECT_EQ(kind(judge_tree(tree, past_.history, appending_, kSync)), "zeros a");
}

TEST_F(Append, SizesInBetweenNeedATreeThatIsAPrefix)
{
    const Promise prefix = with(kSync, "tree", "prefix");
    const std::string between = std::string(100, 'A') + std::string(50, 'B');
    EXPECT_EQ(found(between, appending_, kSync), "size a");
    EXPECT_EQ(found(between, appending_, prefix), "legal");
    EXPECT_EQ(found(between, {2, 2}, prefix), "size a") << "it has returned";
    EXPECT_EQ(found(std::string(100, 'A') + std::string(50, '\0'), appending_, prefix), "zeros a");
    EXPECT_EQ(found(std::string(99, 'A'), appending_, prefix), "size a");
}

TEST_F(Append, SizesMayLagWhereThePromiseSaysSo)
{
    EXPECT_EQ(found(std::string(100, 'A'), {2, 2}, kSync), "size a");
    past_.then(root({file("x", 13, ""), partial(200, 'n')}));
    Entries entries = root({file("x", 13, ""), partial(100, 'o')});
    EXPECT_EQ(kind(past_.judge(entries, {3, 3}, kFsync)), "size a");
    EXPECT_EQ(kind(past_.judge(entries, {3, 3}, with(kFsync, "sizes_lag", "true"))), "legal");
}

// What a truncation takes away may read as zeros before the size says so: file systems that write
// in place clear the rest of the last block first.
TEST(StrictPromise, WhatReturnedIsDurable)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("a", 12, "A"), file("b", 13, "B")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("b", 13, "B")}), kStrict)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}), kStrict)), "missing b");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("b", 13, "A")}), kStrict)),
              "bytes b");
}

TEST(StrictPromise, TheOperationInProgressHappenedOrNot)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("b", 12, "A")}));
    const OperationSpan renaming = {1, 2};
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), renaming, kStrict)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("b", 12, "A")}), renaming, kStrict)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A"), file("b", 12, "A")}), renaming, kStrict)),
              "unexpected a");
    EXPECT_EQ(kind(past.judge(root(), renaming, kStrict)), "missing b");
}

TEST(StrictPromise, StoresToAMapAreDurableOnceTheyAreSynced)
{
    Past past;
    past.then(root({file("a", 12, "AA")}))
        .then(root({file("a", 12, "BA")}))
        .then(root({file("a", 12, "BC")}));
    for (const std::size_t store : {2, 3}) {
        past.history.states[store].store = true;
        past.history.states[store].inode = 12;
    }
    for (const char *legal : {"AA", "BA", "AC", "BC"})
        EXPECT_EQ(kind(past.at_end(root({file("a", 12, legal)}), kStrict)), "legal") << legal;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "DA")}), kStrict)), "garbage a");
    past.sync(Durable::file_data, 12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BC")}), kStrict)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AC")}), kStrict)), "bytes a");
    // Before msync has returned it promises nothing.
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "AC")}), {3, 4}, kStrict)), "legal");
}

TEST(StrictPromise, ASyncedRangeIsOfTheStoresInIt)
{
    Past past;
    past.then(root({file("a", 12, "AA")})).then(root({file("a", 12, "BB")}));
    past.history.states[2].store = true;
    past.history.states[2].inode = 12;
    past.sync(Durable::file_data, 12);
    past.history.states[3].range = {0, agent::kTreeBlock};
    past.history.states[3].store = false;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}), kStrict)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}), kStrict)), "bytes a");
    // Bytes that a write synced, in a block that was stored to.
    past.history.states[3].range = {agent::kTreeBlock, 10};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}), kStrict)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}), kStrict)), "bytes a");
}

TEST(SyncPromise, BytesThatATruncationTakesAwayAreOldOrZero)
{
    Past past;
    past.history.blocks['o'] = block_of(std::string(100, 'A'));
    past.history.blocks['n'] = block_of(std::string(40, 'A'));
    past.then(root({partial(100, 'o')})).then(root({partial(40, 'n')}));
    const std::string cleared = std::string(40, 'A') + std::string(60, '\0');
    const auto found = [&](const std::string &bytes, OperationSpan span, const Promise &promise) {
        return verdict(past, partial(bytes.size(), '?'), block_of(bytes), span, promise);
    };
    EXPECT_EQ(found(cleared, {1, 2}, kSync), "legal");
    EXPECT_EQ(found(cleared, {1, 2}, kStrict), "size a");
    EXPECT_EQ(found(cleared, {2, 2}, kSync), "size a");
    EXPECT_EQ(found(std::string(20, 'A') + std::string(80, '\0'), {1, 2}, kSync), "zeros a");
}

TEST(SyncPromise, OtherOperationsAreWholeOrNotThere)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("b", 12, "A")}));
    const OperationSpan renaming = {1, 2};
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), renaming, kSync)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("b", 12, "A")}), renaming, kSync)), "legal");
    EXPECT_EQ(kind(past.judge(root(), renaming, kSync)), "missing b");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A"), file("b", 12, "A")}), renaming, kSync)),
              "unexpected a");
    EXPECT_EQ(kind(past.judge(root({file("b", 12, " ")}), renaming, kSync)), "zeros b");
}

// What was written to a file without a name has returned, and is durable when it gets one.
TEST(SyncPromise, ALinkBringsTheBytesWithIt)
{
    Past past;
    past.then(root({file("a", 12, "A")}));
    past.history.states.back().call = SYS_linkat;
    const Promise uncovered = with(kSync, "size_covers_appends", "false");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {0, 1}, uncovered)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, " ")}), {0, 1}, uncovered)), "zeros a");
    past.history.states.back().call = SYS_openat;
    EXPECT_EQ(kind(past.judge(root({file("a", 12, " ")}), {0, 1}, uncovered)), "legal");
}

TEST(SyncPromise, StoresToAMapAreDurableOnceTheyAreSynced)
{
    Past past;
    past.then(root({file("a", 12, "AA")})).then(root({file("a", 12, "BA")}));
    past.history.states.back().store = true;
    past.history.states.back().inode = 12;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AA")}), kSync)), "legal");
    past.sync(Durable::file_data, 12);
    past.history.states.back().store = false;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AA")}), kSync)), "bytes a");
}

} // namespace
} // namespace fencepost::oracle
