// SPDX-License-Identifier: GPL-2.0-or-later
// The legal trees of workloads that guests observed: operations, commands of scripts, system calls
// of programs.
#include <gtest/gtest.h>

#include "tests/guest/judged_run.h"

namespace fencepost::oracle {
namespace {

constexpr const char *kScript = R"spec(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
mkdir -p a/b
echo hello >greeting; date +%s >stamp
sync
mv greeting a/b
"""
)spec";

constexpr const char *kProgram = R"spec(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "program"
command = ["/bin/sh", "-c", "echo hello >greeting; sync; rm greeting"]
)spec";

constexpr const char *kSyncMount = R"spec(
[pm]
size = "32M"
[file_system]
type = "ext4"
mount_options = "dax,sync"
[workload]
kind = "ops"
text = """
open a a rdwr|creat
pwrite a 10 "beta"
"""
)spec";

TEST(Observed, TheLegalTreesAreThoseOfTheWorkload)
{
    const JudgedRun &run = judged_run();
    const LegalTrees legal = legal_trees_of(run);
    EXPECT_EQ(legal.operations().size(), 12u);
    EXPECT_EQ(legal.history().states.size(), 14u) << "before, after each, at the end";
    EXPECT_TRUE(legal.history().masks.empty());
    const OperationSpan end = legal.span_at(UINT64_MAX);
    EXPECT_EQ(end.returned, 12u);
    EXPECT_EQ(legal.history().states[12].durable, agent::Durable::all);
    const Tree &tree = legal.history().tree_at(12);
    ASSERT_TRUE(tree.find("d/l"));
    EXPECT_EQ(tree.find("d/l")->size, 9000u);
    EXPECT_EQ(tree.find("d/l")->inode, tree.find("a")->inode);
    EXPECT_EQ(tree.find("s")->target, "a");
    EXPECT_EQ(legal.history().tree_at(0).entries().size(), 2u) << "the root and lost+found";
    // Kept for the next time.
    EXPECT_TRUE(std::filesystem::exists(run.files.legal_states() / "own.0"));
}

TEST(Observed, WritesOnAMountWithSync)
{
    const JudgedRun run(kSyncMount);
    const LegalTrees legal = legal_trees_of(run);
    const TreeState &write = legal.history().states.at(2);
    EXPECT_EQ(write.durable, agent::Durable::file_data);
    EXPECT_EQ(write.range, (agent::TreeRange{10, 4}));
    EXPECT_EQ(legal.history().states.at(1).durable, agent::Durable::nothing);
}

// ext4 has no room for so many.
TEST(Observed, MoreAttributeNamesThanAPageHolds)
{
    std::string spec = "[pm]\nsize = \"64M\"\n[file_system]\ntype = \"xfs\"\n"
                       "[workload]\nkind = \"ops\"\ntext = \"\"\"\nopen a a rdwr|creat\n";
    for (int i = 0; i < 20; ++i)
        spec += fmt::format("setxattr a user.{:0>240} 1\n", i);
    const JudgedRun run(spec + "\"\"\"\n");
    const LegalTrees legal = legal_trees_of(run);
    const Tree &end = legal.history().tree_at(legal.span_at(UINT64_MAX).returned);
    ASSERT_TRUE(end.find("a"));
    EXPECT_EQ(end.find("a")->failed_step, "");
    EXPECT_EQ(end.find("a")->attributes.size(), 20u);
}

// Sizes of a file in the states of one operation.
std::vector<std::uint64_t> sizes(const LegalTrees &legal, const std::string &path, std::size_t from,
                                 std::size_t to)
{
    std::vector<std::uint64_t> result;
    for (std::size_t i = from; i <= to; ++i)
        if (const agent::TreeEntry *entry = legal.history().tree_at(i).find(path))
            if (result.empty() || result.back() != entry->size)
                result.push_back(entry->size);
    return result;
}

// A trace without its calls: until a command has ended, any state since its begin will do.
TEST(Observed, ScriptsCommandByCommand)
{
    const JudgedRun run(std::string(kScript) + "system_calls = false\n");
    const LegalTrees legal = legal_trees_of(run);
    ASSERT_EQ(legal.operations().size(), 4u);
    const auto &operations = legal.operations();
    EXPECT_EQ(sizes(legal, "greeting", operations[0].last_state, operations[1].last_state),
              (std::vector<std::uint64_t>{0, 6}))
        << "the file is there before its bytes are";
    EXPECT_EQ(legal.history().masks, (std::set<Mask>{{"stamp", "contents"}}))
        << "another time in each run";
    const OperationSpan synced = legal.span_at(operations[2].last_seq + 1);
    EXPECT_GE(durable_state(legal.history(), synced, {}), operations[1].last_state);
    EXPECT_LT(durable_state(legal.history(), legal.span_at(operations[2].last_seq), {}),
              operations[1].last_state);
    const Tree &end = legal.history().tree_at(legal.span_at(UINT64_MAX).returned);
    EXPECT_TRUE(end.find("a/b/greeting"));
    EXPECT_FALSE(end.find("greeting"));
}

TEST(Observed, ScriptsCallByCall)
{
    const JudgedRun run(kScript);
    std::string said;
    const LegalTrees legal =
        legal_trees_of(run, [&](const std::string &line) { said += line + "\n"; });
    EXPECT_EQ(said.find("judged by whole commands"), std::string::npos) << said;
    const auto find = [&](const std::string &start) {
        for (const TracedOperation &operation : legal.operations())
            if (operation.text.starts_with(start))
                return operation;
        ADD_FAILURE() << "there is no " << start;
        return TracedOperation();
    };
    const TracedOperation made = find("openat greeting");
    const TracedOperation written = find("write greeting (6 bytes) (in: echo hello >greeting");
    const TracedOperation renamed = find("rename greeting -> a/b/greeting");
    EXPECT_EQ(sizes(legal, "greeting", made.last_state, written.last_state),
              (std::vector<std::uint64_t>{0, 6}));
    // Within one command.
    const OperationSpan between = legal.span_at(made.last_seq + 1);
    EXPECT_EQ(between.returned, made.last_state);
    EXPECT_EQ(between.begun, made.last_state);
    const OperationSpan renaming = legal.span_at(renamed.last_seq);
    EXPECT_EQ(renaming.begun, renamed.last_state);
    EXPECT_TRUE(legal.history().tree_at(renaming.returned).find("greeting"));
    EXPECT_FALSE(legal.history().tree_at(renaming.begun).find("greeting"));
}

TEST(Observed, ProgramsByTheirSystemCalls)
{
    const JudgedRun run(kProgram);
    const LegalTrees legal = legal_trees_of(run);
    std::vector<std::string> kinds;
    for (const TracedOperation &operation : legal.operations()) {
        const TreeState &state = legal.history().states[operation.last_state];
        kinds.push_back(state.durable == agent::Durable::all                             ? "sync"
                        : legal.history().tree_at(operation.last_state).find("greeting") ? "there"
                                                                                         : "gone");
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"there", "there", "sync", "gone"}))
        << "open, write, sync, unlink";
    EXPECT_EQ(sizes(legal, "greeting", 0, legal.history().states.size() - 1),
              (std::vector<std::uint64_t>{0, 6}));
}

} // namespace
} // namespace fencepost::oracle
