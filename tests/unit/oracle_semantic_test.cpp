// SPDX-License-Identifier: GPL-2.0-or-later
// The rules for recovered trees, on histories and trees made by hand: what each rule lets pass, and
// what not.
#include "replayer/oracle/semantic.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "replayer/oracle/oracle_choice.h"

namespace fencepost::oracle {
namespace {

using agent::Durable;
using agent::FileType;
using agent::TreeEntry;

// A block of one letter; its "hash" is the letter. A space is a block of zeros.
constexpr std::uint64_t hash_of(char letter)
{
    return letter == ' ' ? 0 : static_cast<std::uint64_t>(letter);
}

std::string hashes(const std::string &letters)
{
    std::string bytes;
    for (const char letter : letters) {
        const std::uint64_t hash = hash_of(letter);
        bytes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    }
    return bytes;
}

TreeEntry directory(const std::string &path, std::uint64_t inode)
{
    TreeEntry entry;
    entry.path = path;
    entry.type = FileType::directory;
    entry.inode = inode;
    entry.mode = 0755;
    entry.link_count = 2;
    return entry;
}

// As many whole blocks as letters.
TreeEntry file(const std::string &path, std::uint64_t inode, const std::string &letters)
{
    TreeEntry entry;
    entry.path = path;
    entry.type = FileType::file;
    entry.inode = inode;
    entry.mode = 0644;
    entry.link_count = 1;
    entry.size = letters.size() * agent::kTreeBlock;
    entry.block_hashes = hashes(letters);
    return entry;
}

using Entries = std::vector<TreeEntry>;

Entries root(Entries more = {})
{
    more.insert(more.begin(), directory(".", 2));
    return more;
}

agent::TreeDump dump(Entries entries)
{
    agent::TreeDump result;
    result.entries = std::move(entries);
    return result;
}

class Past {
public:
    Past()
    {
        for (char letter = 'A'; letter <= 'Z'; ++letter)
            history.blocks[hash_of(letter)] = Block(agent::kTreeBlock, letter);
        then(root());
    }

    Past &then(Entries entries, Durable durable = Durable::nothing, std::uint64_t inode = 0)
    {
        history.trees.emplace_back(std::move(entries));
        State state;
        state.tree = history.trees.size() - 1;
        state.moment = history.states.empty() ? agent::Moment::start : agent::Moment::end;
        state.operation = static_cast<std::uint32_t>(history.states.size());
        state.durable = durable;
        state.inode = inode;
        history.states.push_back(state);
        return *this;
    }
    // The tree stays.
    Past &sync(Durable durable, std::uint64_t inode = 0)
    {
        State state = history.states.back();
        state.operation += 1;
        state.durable = durable;
        state.inode = inode;
        history.states.push_back(state);
        return *this;
    }

    TreeVerdict judge(const Entries &entries, Window window, SemanticRules rules = {}) const
    {
        return judge_tree(dump(entries), history, window, rules);
    }
    TreeVerdict at_end(const Entries &entries, SemanticRules rules = {}) const
    {
        const std::size_t last = history.states.size() - 1;
        return judge(entries, {last, last}, rules);
    }

    History history;
};

std::string kind(const TreeVerdict &verdict)
{
    return verdict.legal ? "legal"
                         : verdict.problems.at(0).kind + " " + verdict.problems.at(0).path;
}

constexpr SemanticRules kSync = {Semantics::sync};
constexpr SemanticRules kLags = {Semantics::fsync, true};
constexpr SemanticRules kStale = {Semantics::fsync, true, true};

TEST(SyncSemantics, WhatReturnedIsDurable)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("a", 12, "A"), file("b", 13, "B")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("b", 13, "B")}), kSync)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A")}), kSync)), "missing b");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("b", 13, "A")}), kSync)), "bytes b");
}

TEST(SyncSemantics, TheOperationInProgressHappenedOrNot)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("b", 12, "A")}));
    const Window renaming = {1, 2};
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), renaming, kSync)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("b", 12, "A")}), renaming, kSync)), "legal");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A"), file("b", 12, "A")}), renaming, kSync)),
              "unexpected a");
    EXPECT_EQ(kind(past.judge(root(), renaming, kSync)), "missing b");
}

TEST(SyncSemantics, StoresToAMapAreDurableOnceTheyAreSynced)
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
        EXPECT_EQ(kind(past.at_end(root({file("a", 12, legal)}), kSync)), "legal") << legal;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "DA")}), kSync)), "garbage a");
    past.sync(Durable::file_data, 12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BC")}), kSync)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AC")}), kSync)), "bytes a");
    // Before msync has returned it promises nothing.
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "AC")}), {3, 4}, kSync)), "legal");
}

TEST(SyncSemantics, ASyncedRangeIsOfTheStoresInIt)
{
    Past past;
    past.then(root({file("a", 12, "AA")})).then(root({file("a", 12, "BB")}));
    past.history.states[2].store = true;
    past.history.states[2].inode = 12;
    past.sync(Durable::file_data, 12);
    past.history.states[3].range = {0, agent::kTreeBlock};
    past.history.states[3].store = false;
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}), kSync)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}), kSync)), "bytes a");
    // Bytes that a write synced, in a block that was stored to.
    past.history.states[3].range = {agent::kTreeBlock, 10};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AB")}), kSync)), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BA")}), kSync)), "bytes a");
}

TEST(FsyncSemantics, AnyPrefixWithoutASync)
{
    Past past;
    past.then(root({file("a", 12, "")})).then(root({file("a", 12, ""), file("b", 13, "")}));
    EXPECT_EQ(kind(past.at_end(root())), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 13, "")}))), "missing a")
        << "a journal recovers to a prefix";
}

TEST(FsyncSemantics, SyncIsAFloor)
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

TEST(FsyncSemantics, FsyncOfAFileIsAFloorForWhatHappenedUpToItsLastChange)
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

TEST(FsyncSemantics, BytesAloneAreNoFloorForTheTree)
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

TEST(FsyncSemantics, RenamesAndModesAreSyncedByFsyncAndNotByFdatasync)
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

TEST(FsyncSemantics, FdatasyncMakesSizeAndBytesDurable)
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

TEST(FsyncSemantics, ARenameOfADirectoryIsNoChangeOfWhatIsInIt)
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

TEST(FsyncSemantics, AMoveToAnotherDirectoryIsAChange)
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

TEST(FsyncSemantics, FdatasyncOfAFileWithoutANameSaysNothingOfItsUnlink)
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

TEST(FsyncSemantics, BytesWrittenToAFileWithoutANameAreNotKnown)
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

TEST(FsyncSemantics, BytesInFlightAreOldNewOrZeroWhereThereWasNothing)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root({file("a", 12, "BC")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "AC")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "B ")}))), "legal") << "the second block is new";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, " C")}))), "zeros a")
        << "the first one never was zero";
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "BD")}))), "garbage a");
}

TEST(FsyncSemantics, ATornBlockIsJudgedByteByByte)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all).then(root({file("a", 12, "B")}));
    agent::TreeDump torn = dump(root({file("a", 12, "?")}));
    torn.blocks.push_back({'?', std::string(100, 'B') + std::string(agent::kTreeBlock - 100, 'A')});
    const Window end = {3, 3};
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, {})), "legal");
    torn.blocks[0].bytes[50] = 'x';
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, {})), "garbage a");
    torn.blocks[0].bytes[50] = 0;
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, {})), "zeros a");
    EXPECT_EQ(kind(judge_tree(torn, past.history, end, kSync)), "bytes a") << "atomic";
    torn.blocks.clear();
    EXPECT_TRUE(judge_tree(torn, past.history, end, {}).undecided) << "nobody can say";
}

TEST(FsyncSemantics, ARangeThatWasSyncedIsDurableAlone)
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

TEST(FsyncSemantics, AWriteThatSyncsMakesItsBytesDurableAndNoOthers)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "B")}))
        .then(root({file("a", 12, "C")}), Durable::file, 12);
    past.history.states.back().range = {0, 100};
    const auto verdict = [&](const agent::TreeDump &tree) {
        return kind(judge_tree(tree, past.history, {4, 4}, {}));
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

TEST(FsyncSemantics, ARangeOverBlocksPromisesPartsOfThem)
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

TEST(FsyncSemantics, BytesThatWereSyncedBeforeTheFileHadANameAreDurable)
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

TEST(FsyncSemantics, FdatasyncSaysNothingOfTheLinkThatNamesAFile)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::file_data, 12);
    EXPECT_EQ(kind(past.at_end(root())), "missing a") << "it was made with its name";
    past.history.states[1].call = SYS_linkat;
    EXPECT_EQ(kind(past.at_end(root())), "legal");
}

TEST(FsyncSemantics, ASyncInProgressPromisesNothing)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root({file("a", 12, "B")}))
        .sync(Durable::file, 12);
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {3, 4})), "legal");
    EXPECT_EQ(kind(past.judge(root({file("a", 12, "A")}), {4, 4})), "bytes a");
}

TEST(FsyncSemantics, ANumberThatIsUsedAgainIsAnotherFile)
{
    Past past;
    past.then(root({file("a", 12, "A")}))
        .sync(Durable::all)
        .then(root())
        .then(root({file("b", 12, "B")}));
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, " ")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("b", 12, "A")}))), "garbage b") << "another file's bytes";
}

TEST(FsyncSemantics, DelayedAllocationLetsSizesLag)
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

TEST(FsyncSemantics, AWriteThatSyncsMakesTheSizeDurableAsFarAsItWent)
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

TEST(Trees, EveryFieldCounts)
{
    TreeEntry whole = file("a", 12, "A");
    whole.attributes = {{"user.x", "1"}};
    Past past;
    past.then(root({whole, directory("d", 13)})).sync(Durable::all);
    const auto with = [&](auto change) {
        TreeEntry changed = whole;
        change(changed);
        return kind(past.at_end(root({changed, directory("d", 13)})));
    };
    EXPECT_EQ(with([](TreeEntry &) {}), "legal");
    EXPECT_EQ(with([](TreeEntry &e) { e.mode = 0600; }), "mode a");
    EXPECT_EQ(with([](TreeEntry &e) { e.user = 1; }), "user a");
    EXPECT_EQ(with([](TreeEntry &e) { e.group = 1; }), "group a");
    EXPECT_EQ(with([](TreeEntry &e) { e.link_count = 2; }), "link_count a");
    EXPECT_EQ(with([](TreeEntry &e) { e.size = 1; }), "size a");
    EXPECT_EQ(with([](TreeEntry &e) { e.attributes[0].value = "2"; }), "attributes a");
    EXPECT_EQ(with([](TreeEntry &e) { e.attributes.clear(); }), "attributes a");
    EXPECT_EQ(with([](TreeEntry &e) { e.type = FileType::symlink; }), "type a");
    EXPECT_EQ(with([](TreeEntry &e) { e.failed_step = "read"; }), "cannot read a");
    EXPECT_EQ(with([](TreeEntry &e) { e.inode = 99; }), "legal") << "numbers are the file system's";
    EXPECT_EQ(with([](TreeEntry &e) { e.inode = 13; }), "linked d") << "but not shared with others";
}

TEST(Trees, ANameWithoutItsInodeIsNeverLegal)
{
    Past past;
    past.then(root({file("a", 12, "A")}));
    TreeEntry dangling;
    dangling.path = "a";
    dangling.failed_step = "stat";
    dangling.error_number = 117;
    EXPECT_EQ(kind(past.at_end(root({dangling}))), "cannot stat a");
}

TEST(Trees, AnErrorThatTheWorkloadHadTooIsNoCrashs)
{
    TreeEntry odd = file("a", 12, "A");
    odd.failed_step = "xattr";
    odd.error_number = 34;
    Past past;
    past.then(root({odd})).sync(Durable::all);
    EXPECT_EQ(kind(past.at_end(root({odd}))), "legal");
    TreeEntry other = odd;
    other.error_number = 5;
    EXPECT_EQ(kind(past.at_end(root({other}))), "cannot xattr a");
    other = odd;
    other.failed_step = "read";
    EXPECT_EQ(kind(past.at_end(root({other}))), "cannot read a");
    other = odd;
    other.mode = 0600;
    EXPECT_EQ(kind(past.at_end(root({other}))), "mode a") << "the rest still counts";
}

TEST(Trees, ANameThatIsListedTwiceIsNeverLegal)
{
    Past past;
    past.then(root({file("a", 12, "A")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("a", 12, "A")}))), "twice a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("a", 13, "A")}))), "twice a");
}

TEST(Trees, MaskedFieldsAndMappedFilesAreNotCompared)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "bytes a");
    past.history.masks.insert({"a", "contents"});
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), directory("x", 13)}))), "unexpected x");
    EXPECT_EQ(kind(past.at_end(root())), "missing a");
    past.history.masks = {{"x", "name"}, {"a", "name"}};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), directory("x", 13)}))), "legal");
    EXPECT_EQ(kind(past.at_end(root())), "legal");
    past.history.masks.clear();
    past.history.mapped.insert(12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "QQ")}))), "size a");
}

TEST(Trees, WhatDiffersBetweenTwoRunsIsMaskedOrRefused)
{
    Past one;
    one.then(root({file("a", 12, "A")}));
    Past two;
    two.then(root({file("a", 14, "B")}));
    EXPECT_EQ(mask_differences(one.history, two.history), "");
    EXPECT_EQ(one.history.masks, (std::set<Mask>{{"a", "contents"}}));
    Past three;
    three.then(root({file("tmp.x1", 12, "A")}));
    EXPECT_NE(mask_differences(one.history, three.history), "");
    three.sync(Durable::all);
    EXPECT_NE(mask_differences(one.history, three.history), "");
}

TEST(Histories, AreWholeOrThereIsNone)
{
    std::vector<agent::Observation> seen(3);
    seen[0].same_tree = false;
    seen[0].tree.entries = root();
    seen[1].moment = agent::Moment::end;
    seen[1].operation = 1;
    seen[2].moment = agent::Moment::end;
    const auto why = [&] {
        try {
            make_history(seen);
        } catch (const NoLegalStates &none) {
            return std::string(none.what());
        }
        return std::string("a history");
    };
    EXPECT_EQ(why(), "a history");
    seen[0].tree.truncated = true;
    EXPECT_EQ(why(), "the workload's tree is too large to be compared");
    seen[0].tree.truncated = false;
    seen.pop_back();
    EXPECT_EQ(why(), "the workload was not observed up to its end");
    seen.emplace_back().moment = agent::Moment::overflow;
    EXPECT_EQ(why(), "the workload changes too much to be observed: its trees and their bytes take "
                     "more than 24 MiB");
}

TEST(Rules, ComeFromTypeAndMountOptions)
{
    const auto rules = [](const char *type, const char *options, const char *semantics = "") {
        return rules_for({"/dev/pmem0", "/mnt", type, options}, semantics);
    };
    EXPECT_EQ(rules("ext4", "dax").semantics, Semantics::fsync);
    EXPECT_EQ(rules("NOVA", "").semantics, Semantics::sync);
    EXPECT_EQ(rules("ext4", "dax", "sync").semantics, Semantics::sync);
    EXPECT_FALSE(rules("ext4", "noatime,dax=always").sizes_lag);
    EXPECT_FALSE(rules("ext4", "dax,data=writeback").stale_bytes);
    EXPECT_TRUE(rules("ext4", "dax=never").sizes_lag);
    EXPECT_TRUE(rules("ext4", "data=writeback").stale_bytes);
    EXPECT_FALSE(rules("ext4", "data=ordered").stale_bytes);
    // What has returned is durable there, sizes and bytes included, with or without dax.
    EXPECT_FALSE(rules("NOVA", "").sizes_lag);
    EXPECT_FALSE(rules("pmfs", "data=writeback").stale_bytes);
    EXPECT_FALSE(rules("ext4", "", "sync").sizes_lag);
}

TEST(Windows, ComeFromTheOperationsOfTheTrace)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root());
    const LegalStates legal(past.history, {{10, 20, 1, "open a"}, {30, 40, 2, "unlink a"}});
    const auto window = [&](std::uint64_t seq) {
        const Window found = legal.window(seq);
        return std::pair(found.returned, found.begun);
    };
    EXPECT_EQ(window(10), std::pair(0ul, 0ul)) << "its begin did not happen";
    EXPECT_EQ(window(11), std::pair(0ul, 1ul));
    EXPECT_EQ(window(20), std::pair(0ul, 1ul)) << "its end did not happen";
    EXPECT_EQ(window(21), std::pair(1ul, 1ul));
    EXPECT_EQ(window(35), std::pair(1ul, 2ul));
    EXPECT_EQ(window(99), std::pair(2ul, 2ul));
    EXPECT_EQ(legal.operation_of(0), "");
    EXPECT_EQ(legal.operation_of(2), "unlink a");
}

} // namespace
} // namespace fencepost::oracle
