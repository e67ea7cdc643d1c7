// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost run` called again: what it goes on with, and what it exits with.
#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/files.h"
#include "tests/guest/ledger_spec.h"
#include "trace/database.h"

namespace fencepost::test {
namespace {

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
    // `fencepost tree` recovers the state of the first finding, and knows no others.
    void expect_tree_of_finding()
    {
        trace::Database results(run_ / "results.db", SQLITE_OPEN_READONLY);
        trace::Statement finding(results.get(), "SELECT state FROM finding");
        ASSERT_TRUE(finding.step());
        const std::string state(finding.text(0));
        EXPECT_EQ(fencepost({"-q", "tree", run_.string(), state}), 0) << said_;
        EXPECT_NE(said_.find("-rw-r--r--  1 0:0      8192 ledger\n"), std::string::npos) << said_;
        EXPECT_EQ(said_.find("too large"), std::string::npos) << said_;
        EXPECT_EQ(fencepost({"tree", run_.string(), "0" + state}), 2) << said_;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-run-verb-"};
    const std::filesystem::path spec_ = directory_.path() / "spec.toml";
    const std::filesystem::path run_ = directory_.path() / "run";
    std::string said_;
};

// The second call changes how the run is judged and ends before it has tested anything.
TEST_F(RunVerb, VerdictsOfAnotherTestDoNotCount)
{
    ASSERT_EQ(run(std::string(kLedgerSpec) + kContent), 0) << said_;
    ASSERT_EQ(run(std::string(kLedgerSpec) + kLooks, {"--window", "op:99"}), 2) << said_;
    EXPECT_EQ(run(std::string(kLedgerSpec) + kLooks), 1) << said_;
    EXPECT_NE(said_.find("findings   1"), std::string::npos) << said_;
    EXPECT_NE(said_.find("    also found by rule transient-data at the same store\n"),
              std::string::npos)
        << said_;
    expect_tree_of_finding();
    // The same oracles by name are the same.
    EXPECT_EQ(fencepost({"test", "--oracle", "program", run_.string()}), 1) << said_;
    EXPECT_NE(said_.find("tested     0 images"), std::string::npos) << said_;
}

// Verdicts belong to what they come from: the guest's image, the oracles, the recording.
TEST_F(RunVerb, VerdictsFromBeforeAChangeDoNotCount)
{
    const std::filesystem::path oracle = directory_.path() / "mine";
    std::filesystem::create_directories(oracle);
    write_file(oracle / "oracle.toml", "summary = \"never objects\"\nfile_systems = [\"ext4\"]\n"
                                       "program = \"check\"\nbefore = true\n");
    const auto write_program = [&](const char *text) {
        write_file(oracle / "check", text);
        std::filesystem::permissions(oracle / "check", std::filesystem::perms::owner_all);
    };
    write_program("#!/bin/sh\nexit 0\n");
    const std::string spec = std::string(kLedgerSpec) + "[test]\noracles = [\"./mine\"]\n";
    ASSERT_EQ(run(spec, {"--limit", "3"}), 0) << said_;
    const std::vector<std::string> again = {"test",     run_.string(), "--strategy",
                                            "none-all", "--limit",     "1"};
    ASSERT_EQ(fencepost(again), 0) << said_;
    EXPECT_EQ(said_.find("earlier verdicts do not count"), std::string::npos) << said_;

    write_program("#!/bin/sh\n# changed\nexit 0\n");
    ASSERT_EQ(fencepost(again), 0) << said_;
    EXPECT_NE(said_.find("the oracle mine has changed: earlier verdicts do not count"),
              std::string::npos)
        << said_;
    EXPECT_NE(said_.find(" states: 1 pass\n"), std::string::npos)
        << said_; // not those of the first call

    trace::Database(run_ / "results.db", SQLITE_OPEN_READWRITE)
        .execute("UPDATE about SET value = 'other' WHERE name LIKE 'guest 1 %'");
    ASSERT_EQ(fencepost(again), 0) << said_;
    EXPECT_NE(said_.find("the guest's agent has changed: earlier verdicts do not count"),
              std::string::npos)
        << said_;
    ASSERT_EQ(fencepost(again), 0) << said_;
    EXPECT_EQ(said_.find("earlier verdicts do not count"), std::string::npos) << said_;

    trace::Database(run_ / "trace.db", SQLITE_OPEN_READWRITE)
        .execute("UPDATE meta SET value = 'other' WHERE key = 'image_digest'");
    EXPECT_EQ(run(spec, {"--limit", "3"}), 2) << said_;
    EXPECT_NE(said_.find("was recorded with another guest image"), std::string::npos) << said_;
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
    EXPECT_NE(said_.find("reusing unchanged recording"), std::string::npos) << said_;
}

// The kernel's panic, and a guest that never comes back, are findings; what was recorded until then
// is tested.
TEST_F(RunVerb, AWorkloadThatPanicsTheGuestIsAFinding)
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
echo c >/proc/sysrq-trigger
"""
)";
    EXPECT_EQ(run(spec, {"--limit", "4"}), 1) << said_;
    EXPECT_NE(said_.find("bug guest_crash: the workload crashes the guest's kernel: Kernel panic - "
                         "not syncing: sysrq triggered crash"),
              std::string::npos)
        << said_;
    EXPECT_NE(said_.find("fails without a power failure"), std::string::npos) << said_;
    EXPECT_NE(said_.find("tested     4 images"), std::string::npos) << said_;
    EXPECT_NE(said_.find("findings   1"), std::string::npos) << said_;
    EXPECT_NE(said_.find("the semantic oracle is left out: the workload took the guest down"),
              std::string::npos)
        << said_;
    std::string log;
    for (const auto &entry : std::filesystem::directory_iterator(run_ / "findings"))
        log += read_file(entry.path() / "console.log");
    EXPECT_NE(log.find("Kernel panic"), std::string::npos) << log;
}

TEST_F(RunVerb, AWorkloadThatHangsTheGuestIsAFindingAndSaysHowToGiveItMoreTime)
{
    const std::string spec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
host_time_limit = 5
text = """
echo x >f
sync
while :; do :; done
"""
[test]
oracles = ["mount"]
)";
    write_file(spec_, spec);
    EXPECT_EQ(fencepost({"run", spec_.string(), "-o", run_.string(), "--limit", "2"}), 1) << said_;
    EXPECT_NE(said_.find("hung: the guest still ran after 5 s of the host's time; if the workload "
                         "only needs longer, "
                         "raise workload.host_time_limit"),
              std::string::npos)
        << said_;
    EXPECT_EQ(said_.find("does not repeat"), std::string::npos) << said_;
    EXPECT_NE(said_.find("bug guest_hang: the workload hangs the guest"), std::string::npos)
        << said_;
    EXPECT_NE(said_.find("tested     2 images"), std::string::npos) << said_;
}

// It tests what the mount did and finds nothing, and is no pass.
TEST_F(RunVerb, AWorkloadThatDoesNotReachPmIsNoPass)
{
    const std::string spec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
mount_options = "noatime"
[workload]
kind = "script"
text = "echo x >f"
[test]
oracles = ["mount"]
)";
    EXPECT_EQ(run(spec), 5) << said_;
    EXPECT_NE(said_.find("NOT A PASS: nothing of the workload reached PM"), std::string::npos)
        << said_;
    EXPECT_NE(said_.find("add dax to file_system.mount_options"), std::string::npos) << said_;
    EXPECT_EQ(fencepost({"test", run_.string()}), 5) << said_;
    EXPECT_EQ(fencepost({"info", run_.string()}), 0) << said_;
    EXPECT_NE(said_.find("nothing that the workload wrote reached PM"), std::string::npos) << said_;
}

TEST_F(RunVerb, AnOracleThatLoopsOrEndsOddlyIsTold)
{
    const auto oracle = [&](const std::string &name, const std::string &script) {
        const std::filesystem::path folder = directory_.path() / name;
        std::filesystem::create_directory(folder);
        write_file(folder / "oracle.toml",
                   "summary = \"x\"\nprogram = \"judge\"\ntime_limit = 1\n");
        write_file(folder / "judge", "#!/bin/sh\n" + script + "\n");
        std::filesystem::permissions(folder / "judge", std::filesystem::perms::owner_all);
        return folder.string();
    };
    const std::string spec = std::string(kLedgerSpec) + "[test]\noracles = [\"mount\"]\n";
    ASSERT_EQ(run(spec, {"--limit", "1"}), 0) << said_;
    EXPECT_EQ(fencepost({"test", run_.string(), "--restart", "--limit", "1", "--oracle",
                         oracle("odd", "echo hm >&2; exit 7")}),
              4)
        << said_;
    EXPECT_NE(said_.find("infra      1 image could not be judged: the oracle odd ended with exit "
                         "status 7, which says "
                         "nothing (0, 1 and 2 do): hm"),
              std::string::npos)
        << said_;
    EXPECT_EQ(fencepost({"test", run_.string(), "--restart", "--limit", "1", "--oracle",
                         oracle("loop", "while :; do :; done")}),
              4)
        << said_;
    EXPECT_NE(said_.find("could not be judged: the oracle loop did not end within 1 s"),
              std::string::npos)
        << said_;
}

} // namespace
} // namespace fencepost::test
