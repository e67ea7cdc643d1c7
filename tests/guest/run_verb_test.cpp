// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost run` called again: what it goes on with, and what it exits with.
#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/files.h"

namespace fencepost::test {
namespace {

// The flag is flushed and the record is not: a bug for those who look.
constexpr const char *kLedger = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[setup]
script = "dd if=/dev/zero of=ledger bs=4096 count=2 2>/dev/null"
[workload]
kind = "ops"
text = """
open f ledger rdwr
map m f 0 8192
store m 0 "amount=100"
fence
store m 4096 "valid"
flush m 4096 5
fence
unmap m
"""
)";
constexpr const char *kContent = R"(
[test]
oracles = ["program"]
recovery = ["true"]
)";
constexpr const char *kLooks = R"(
[test]
oracles = ["program"]
recovery = ["sh", "-c", "! grep -q valid /mnt/pm/ledger || grep -q amount /mnt/pm/ledger"]
)";

class RunVerb : public testing::Test {
protected:
    int run(const std::string &spec, std::vector<std::string> options = {})
    {
        write_file(spec_, spec);
        options.insert(options.begin(),
                       {"run", spec_.string(), "-o", run_.string(), "--times", "0"});
        return fencepost(options);
    }
    int fencepost(std::vector<std::string> words)
    {
        words.insert(words.begin(), FENCEPOST_PROGRAM);
        const CommandResult result = run_command(words);
        said_ = result.output + result.errors;
        return result.end.by_signal ? -1 : result.end.code;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-run-verb-"};
    const std::filesystem::path spec_ = directory_.path() / "spec.toml";
    const std::filesystem::path run_ = directory_.path() / "run";
    std::string said_;
};

// The second call changes how the run is judged and ends before it has tested anything.
TEST_F(RunVerb, VerdictsOfAnotherTestDoNotCount)
{
    ASSERT_EQ(run(std::string(kLedger) + kContent), 0) << said_;
    ASSERT_EQ(run(std::string(kLedger) + kLooks, {"--window", "op:99"}), 2) << said_;
    EXPECT_EQ(run(std::string(kLedger) + kLooks), 1) << said_;
    EXPECT_NE(said_.find("findings   1"), std::string::npos) << said_;
    // The same oracles by name are the same.
    EXPECT_EQ(fencepost({"test", "--oracle", "program", run_.string()}), 1) << said_;
    EXPECT_NE(said_.find("tested     0 images"), std::string::npos) << said_;
}

TEST_F(RunVerb, AWorkloadThatFailedFailsEveryCall)
{
    const std::string spec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
echo x >f
sync
false
"""
[test]
oracles = ["mount"]
)";
    EXPECT_EQ(run(spec, {"--limit", "2"}), 1) << said_;
    EXPECT_EQ(run(spec, {"--limit", "2"}), 1) << said_;
    EXPECT_NE(said_.find("recorded   before"), std::string::npos) << said_;
}

} // namespace
} // namespace fencepost::test
