// SPDX-License-Identifier: GPL-2.0-or-later
// The oracles that need a guest, on a real run: its last image passes, the same image damaged in
// ten ways and more is caught by each of them. `ext4` and `xfs` need no guest:
// tests/unit/oracle_fsck_test.cpp.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/places.h"
#include "replayer/oracle/image_judge.h"
#include "replayer/test/run_judge.h"
#include "tests/guest/judged_run.h"
#include "tests/guest/world.h"

namespace fencepost::oracle {
namespace {

using namespace fencepost::guest;
namespace fs = std::filesystem;

constexpr std::uint64_t kOffset = 2 << 20; // of the file system in PM

// Done to the file system on the host, by debugfs or byte by byte.
struct Damage {
    const char *command = nullptr;
    std::uint64_t at = 0;
    std::string bytes = {};
};

class Oracles : public testing::Test {
protected:
    explicit Oracles(std::string oracle = "")
    {
        config_.pm[0].size = 32 << 20;
        world_ = std::make_unique<World>("process", config_);
        pm_ = world_->new_pm_file();
        if (!oracle.empty())
            choose(oracle);
    }

    void choose(const std::string &oracle) { choose({oracle}, judged_run().inputs.test); }
    void choose(const std::vector<std::string> &oracles, const run::TestSpec &spec,
                bool closing_checks = true)
    {
        JudgeSettings settings;
        settings.closing_checks = closing_checks;
        settings.run = judged_run().files;
        settings.inputs = judged_run().inputs;
        settings.inputs.test = spec;
        settings.cache = cache_directory();
        settings.oracles = oracles;
        judge_ = test::make_run_judge(settings);
    }
    // The recovery command is that script.
    void choose_script(const std::vector<std::string> &oracles, const std::string &script,
                       std::uint32_t time_limit = 60)
    {
        run::TestSpec test = judged_run().inputs.test;
        test.recovery = {"/bin/sh", "-c", script};
        test.time_limit = time_limit;
        choose(oracles, test);
    }

    void put_image()
    {
        // In place: the guest has the file mapped.
        const std::string bytes = read_file(judged_run().last_image);
        std::fstream(pm_, std::ios::in | std::ios::out | std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    void damage(const Damage &damage) const
    {
        if (damage.command) {
            const CommandResult result =
                run_command({find_program("debugfs").value().string(), "-w", "-R", damage.command,
                             pm_.string() + "?offset=2097152"});
            ASSERT_TRUE(result.success()) << damage.command << ": " << result.last_words();
        } else {
            std::fstream(pm_, std::ios::in | std::ios::out | std::ios::binary)
                .seekp(static_cast<std::streamoff>(kOffset + damage.at))
                .write(damage.bytes.data(), static_cast<std::streamsize>(damage.bytes.size()));
        }
    }

    Judgement judge()
    {
        if (!guest_) {
            guest_ = world_->restore({pm_});
            judge_->prepare(*guest_);
        }
        const std::vector<fs::path> files = {pm_};
        Judgement judgement = judge_->judge({*guest_, files, UINT64_MAX});
        if (judgement.guest_spent)
            guest_.reset();
        return judgement;
    }

    // What the oracle says about the image with that damage.
    std::string answer(const std::string &oracle, const Damage &how)
    {
        put_image();
        damage(how);
        const Judgement judgement = judge();
        for (const Evidence &evidence : judgement.evidence)
            if (evidence.oracle == oracle)
                return evidence.summary;
        return "pass";
    }

    void expect_healthy()
    {
        put_image();
        const Judgement judgement = judge();
        for (const Evidence &evidence : judgement.evidence)
            ADD_FAILURE() << evidence.oracle << ": " << evidence.summary << " "
                          << evidence.details.text();
        EXPECT_EQ(judgement.verdict, Verdict::pass);
    }

    void expect_caught(const std::string &oracle, const std::vector<Damage> &damages)
    {
        choose(oracle);
        expect_healthy();
        for (const Damage &each : damages)
            EXPECT_NE(answer(oracle, each), "pass")
                << (each.command ? each.command : fmt::format("bytes at {}", each.at));
        // Nothing of what came before is left in the guest.
        expect_healthy();
    }

    GuestConfig config_;
    std::unique_ptr<World> world_;
    fs::path pm_;
    std::unique_ptr<Guest> guest_;
    std::unique_ptr<Judge> judge_;
};

const std::vector<Damage> kWrongTrees = {
    {"rm d/b"},
    {"mkdir x"},
    {"sif a mode 0100600"},
    {"sif a uid 7"},
    {"sif a gid 7"},
    {"sif a size 5000"},
    {"sif a links_count 1"},
    {"symlink t a"},
    {"ln d/b again"},
    {"unlink s"},
    {"unlink d/e/c"},
    {"zap_block -f d/b -p 0x55 0"},
    {"zap_block -f d/e/c -p 0 0"},
};

TEST_F(Oracles, Mount)
{
    expect_caught("mount", {{nullptr, 1024 + 56, std::string(2, '\0')},
                            {nullptr, 1024 + 120, "zzzz"},
                            {nullptr, 4096, std::string(32, '\xff')},
                            {"clri <2>"},
                            {"clri <8>"},
                            {"sif <2> mode 0100644"},
                            {"sif <8> mode 040755"},
                            {"ssv blocks_count 9999999"},
                            {"ssv desc_size 3"},
                            {"ssv inode_size 100"},
                            {"ssv blocks_per_group 7"}});
    // Mounted and unmounted without an error but in the log.
    EXPECT_EQ(answer("mount", {"ssv state 3"}),
              "EXT4-fs (pmem0): warning: mounting fs with errors, running e2fsck is recommended");
    EXPECT_EQ(answer("mount", {"ssv last_orphan 3000"}),
              "EXT4-fs error (device pmem0): ext4_orphan_get:#: comm fencepost-serve: bad orphan "
              "inode #");
}

TEST_F(Oracles, TheLogHasNoGaps)
{
    choose("mount");
    expect_healthy();
    // Between two images: it belongs to the second.
    const auto logged = guest_->with_agent([](AgentClient &agent) {
        return agent.run(
            {.argv = {"/bin/mount", "-t", "ext4", "-o", "nonsense", "/dev/pmem0", "/mnt"}},
            Deadline::after(std::chrono::seconds(60)));
    });
    ASSERT_TRUE(logged && !logged->success()) << "the kernel complains about the option";
    put_image();
    EXPECT_EQ(judge().verdict, Verdict::inconsistent);
    // More than the kernel keeps.
    choose_script({"program"},
                  "echo on >/proc/sys/kernel/printk_devkmsg; x=$(head -c 900 /dev/zero | tr "
                  "'\\0' x); i=0; while [ $i -lt 2000 ]; do echo $x >/dev/kmsg; i=$((i+1)); done");
    put_image();
    const Judgement flooded = judge();
    EXPECT_EQ(flooded.verdict, Verdict::infra_error);
    ASSERT_EQ(flooded.evidence.size(), 1u);
    EXPECT_EQ(flooded.evidence[0].summary,
              "the kernel log is not whole: records were overwritten before they were read");
}

TEST_F(Oracles, Semantic)
{
    std::vector<Damage> damages = kWrongTrees;
    damages.push_back({"ea_set a user.x 2"});
    damages.push_back({"ea_rm a user.x"});
    damages.push_back({"zap_block -f a -p 0x55 1"});
    expect_caught("semantic", damages);
    EXPECT_EQ(answer("semantic", {"rm d/b"}), "missing: d/b");
    EXPECT_EQ(answer("semantic", {"mkdir x"}), "unexpected: x");
    EXPECT_EQ(answer("semantic", {"zap_block -f a -p 0 1"}), "zeros: a");
    EXPECT_EQ(answer("semantic", {"sif a mode 0100600"}), "mode: a");
}

TEST_F(Oracles, Differential)
{
    expect_caught("differential", kWrongTrees);
}

TEST_F(Oracles, Program)
{
    expect_caught("program", kWrongTrees);
}

TEST_F(Oracles, ACommandThatHangsKeepsItsWords)
{
    choose_script({"program"}, "echo begun; sleep 1000", 3);
    put_image();
    const Judgement judgement = judge();
    EXPECT_EQ(judgement.verdict, Verdict::guest_hang);
    ASSERT_EQ(judgement.evidence.size(), 1u);
    EXPECT_EQ(judgement.evidence[0].summary, "the recovery command did not end in its time: begun");
    EXPECT_EQ(judgement.evidence[0].details["output"], "begun\n");
    EXPECT_FALSE(judgement.guest_spent);
}

// The guest has one CPU, and others have most of that.
TEST_F(Oracles, ACommandThatWasStarvedIsNoHang)
{
    if (access("/proc/self/schedstat", R_OK) < 0)
        GTEST_SKIP() << "this kernel does not tell";
    choose_script({"program"}, "while :; do :; done", 3);
    put_image();
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::vector<ChildProcess> busy;
    for (int i = 0; i < 4; ++i)
        busy.emplace_back(std::vector<std::string>{"/bin/sh", "-c", "while :; do :; done"},
                          SpawnOptions());
    const Judgement judgement = judge();
    busy.clear();
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(judgement.verdict, Verdict::infra_error);
    ASSERT_EQ(judgement.evidence.size(), 1u);
    EXPECT_EQ(judgement.evidence[0].summary,
              "the host was too busy to give the recovery command its time");
}

// Its directory is on the file system that is to be unmounted.
TEST_F(Oracles, WhatACommandLeavesRunningIsNoFault)
{
    choose_script({"program"}, "sleep 1000 & exit 0");
    expect_healthy();
    expect_healthy();
}

TEST_F(Oracles, Usable)
{
    expect_caught("usable", {{"sif . flags 0x80010"},
                             {"sif d flags 0x80010"},
                             {"sif d/e flags 0x80010"},
                             {"sif . flags 0x80020"},
                             {"sif d flags 0x80020"},
                             {"sif d/e flags 0x80020"},
                             {"sif d/e links_count 65000"},
                             {"sif d links_count 65000"},
                             {"sif . links_count 65000"},
                             {"zap_block -f d -p 1 -o 4084 -l 12 0"},
                             {"zap_block -f d/e -p 1 -o 4084 -l 12 0"},
                             {"zap_block -f . -p 1 -o 4084 -l 12 0"},
                             {"clri d/e/c"}});
    EXPECT_EQ(answer("usable", {"clri d/b"}).substr(0, 9), "stat: d/b");
    // Every directory can be used, and yet something is wrong.
    EXPECT_NE(answer("ext4", {"setb 7000"}), "pass");
}

// Directories are all right, and files that were recovered are not.
TEST_F(Oracles, UsableWorksWithWhatIsThere)
{
    expect_caught("usable", {{"sif a flags 0x80010"},     // immutable
                             {"sif d/e/c flags 0x80020"}, // append only
                             {"clri d/b"}});
    EXPECT_EQ(answer("usable", {"sif d/b flags 0x80010"}), "open: d/b: Operation not permitted");
    EXPECT_EQ(answer("usable", {"sif d/b flags 0x80020"}), "open: d/b: Operation not permitted");
}

// A name that is gone and leaves its inode and its block: no oracle of trees knows about those.
// fsck would, so it is not asked.
TEST_F(Oracles, WhatNobodyCanReachIsALeak)
{
    choose({"usable"}, judged_run().inputs.test, false);
    put_image();
    guest_ = world_->restore({pm_});
    const std::vector<fs::path> files = {pm_};
    Subject healthy = {*guest_, files, UINT64_MAX};
    healthy.crashed = false;
    const Judgement learnt = judge_->judge(healthy);
    ASSERT_TRUE(learnt.used_when_empty);
    judge_->expect_space({*learnt.used_when_empty});
    expect_healthy();
    EXPECT_EQ(answer("usable", {"unlink d/b"}),
              "leak: blocks stay in use when everything is removed");
    EXPECT_EQ(answer("usable", {"unlink d/e/c"}),
              "leak: blocks stay in use when everything is removed");
    EXPECT_EQ(answer("usable", {"rm d/b"}), "pass") << "removed as it should be";
    expect_healthy();
}

TEST_F(Oracles, AFullFileSystemIsUsable)
{
    // All but a block, so that a write is done in part.
    choose_script({"program", "usable"}, "rmdir lost+found; dd if=/dev/zero of=fill bs=4096; "
                                         "truncate -s $(($(stat -c %s fill) - 4096)) fill");
    expect_healthy();
}

} // namespace
} // namespace fencepost::oracle
