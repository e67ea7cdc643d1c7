// SPDX-License-Identifier: GPL-2.0-or-later
// What a recording says about a workload that did not reach PM: a mount without DAX, flushes of
// other memory.
#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/record/names.h"
#include "replayer/record/reach.h"
#include "tests/golden/trace_text.h"

namespace fencepost::record {

using namespace run;
namespace {

constexpr const char *kProgram = "function persist module=/bin/prog user=0x5000\n"
                                 "function mount_it module=kernel\n"
                                 "store pmem0 8 = 1 @mount_it\n" // the mount's own
                                 "note \"step: workload\"\n";

class ReachTest : public testing::Test {
protected:
    Reach reach(const std::string &text)
    {
        golden::write_trace(text, directory_.path() / "trace.db");
        return reach_of(trace::TraceReader(directory_.path() / "trace.db"));
    }
    static Inputs mounted(const std::string &type, const std::string &options)
    {
        Inputs inputs;
        agent::JobStep step;
        step.kind = agent::StepKind::mount;
        step.mount = {"/dev/pmem0", "/mnt/pm", type, options};
        inputs.workload.steps.push_back(step);
        inputs.mount = run::mount_of(inputs.workload, inputs.config.pm);
        inputs.workload_step = inputs.workload.steps.size();
        inputs.workload.steps.emplace_back();
        return inputs;
    }
    static std::string said(const std::vector<trace::DataQuality> &counters)
    {
        std::string text;
        for (const trace::DataQuality &counter : counters)
            if (counter.value != 0)
                text += counter.name + ": " + counter.meaning + "\n";
        return text;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-reach-"};
};

TEST_F(ReachTest, StoresOfTheMountAreNotTheWorkloads)
{
    const Reach nothing = reach(std::string(kProgram) + "fence sfence @persist\n");
    EXPECT_TRUE(nothing.known);
    EXPECT_EQ(nothing.stores, 0u);
    EXPECT_FALSE(nothing.reached());
    const Reach something = reach(std::string(kProgram) + "store pmem0+64 8 = 1 @persist\n");
    EXPECT_EQ(something.stores, 1u);
    EXPECT_TRUE(something.reached());
    EXPECT_TRUE(reach("store pmem0 8 = 1\n").reached())
        << "made by others, who do not say where it begins";
}

TEST_F(ReachTest, FlushesOfOtherMemoryAreTold)
{
    const Reach lost =
        reach(std::string(kProgram) + "fence sfence @persist\nvolatile_flushes 12 @persist\n");
    EXPECT_EQ(lost.volatile_flushes, 12u);
    EXPECT_EQ(lost.volatile_module, "/bin/prog");
    const std::string words = said(reach_counters(lost, {}, ""));
    EXPECT_NE(words.find("program_flushes_of_volatile_memory: "), std::string::npos) << words;
    EXPECT_NE(words.find("most of it in /bin/prog"), std::string::npos) << words;
    EXPECT_NE(words.find("nothing_reached_pm: "), std::string::npos) << words;
    EXPECT_NE(words.find("/dev/pmem0"), std::string::npos) << "there is no file system: " << words;
    const Reach both =
        reach(std::string(kProgram) + "store pmem0 8 = 1 @persist\nflush clwb pmem0 @persist\n"
                                      "volatile_flushes 12 @persist\n");
    EXPECT_EQ(said(reach_counters(both, {}, "")), "") << "it knows where PM is";
}

TEST_F(ReachTest, WhatWasDoneAndNotSyncedIsTold)
{
    Inputs inputs = mounted("ext4", "dax");
    inputs.workload.steps.back().kind = agent::StepKind::ops;
    const auto words = [&](const std::string &text) {
        return said(reach_counters(reach(kProgram + text), inputs, ""));
    };
    const auto has = [](const std::string &text, const char *part) {
        return text.find(part) != std::string::npos;
    };
    const char *const below = "let it write below /mnt/pm";
    const char *const sync = "nothing was synced: end the workload with sync or fsync";
    EXPECT_TRUE(has(words(""), below));
    EXPECT_TRUE(has(words("op_begin 1 \"mkdir d\"\nop_end 1 = 0\n"), sync));
    EXPECT_TRUE(has(words("op_begin 1 \"mkdir d\"\nop_end 1 = -17\n"), below)) << "it failed";

    inputs.workload.steps.back().kind = agent::StepKind::run;
    const auto made = [&](const std::string &path, const char *result) {
        return words("syscall_enter 83 \"" + path + "\" in 0x2000\nsyscall_exit 83 = " + result +
                     " in 0x2000\n");
    };
    EXPECT_TRUE(has(made("d", "0"), sync));
    EXPECT_TRUE(has(made("/mnt/pm/d", "0"), sync));
    EXPECT_TRUE(has(made("/tmp/d", "0"), below));
    EXPECT_TRUE(has(made("d", "-17"), below)) << "it failed";
    EXPECT_TRUE(
        has(words("syscall_enter 4 \"d\" in 0x2000\nsyscall_exit 4 = 0 in 0x2000\n"), below))
        << "stat makes nothing";
}

TEST_F(ReachTest, AMountWithoutDaxIsTold)
{
    const Reach nothing = reach(std::string(kProgram));
    const std::string words = said(reach_counters(nothing, mounted("ext4", "noatime"), ""));
    EXPECT_NE(words.find("ext4 is mounted with 'noatime' and not with dax"), std::string::npos)
        << words;
    EXPECT_NE(words.find("add dax to file_system.mount_options"), std::string::npos) << words;
    const Reach something = reach(std::string(kProgram) + "store pmem0+64 8 = 1 @persist\n");
    EXPECT_EQ(said(reach_counters(something, mounted("ext4", "noatime,dax"), "")), "");
    EXPECT_EQ(said(reach_counters(something, mounted("xfs", "dax=always"), "")), "");
    EXPECT_EQ(said(reach_counters(something, mounted("NOVA", ""), "")), "")
        << "it has no page cache";
    EXPECT_NE(
        said(reach_counters(something, mounted("xfs", "dax"),
                            "XFS (pmem0): DAX unsupported by block device. Turning off DAX.")),
        "");
    EXPECT_NE(said(reach_counters(something, mounted("ext4", "dax=inode"), "")), "");
}

// A finding about what they flushed may be false, so they are told beside it.
TEST_F(ReachTest, FlushesWithoutALineAreToldWithTheirSites)
{
    const std::filesystem::path trace = directory_.path() / "trace.db";
    const auto told = [&](const std::string &text) {
        golden::write_trace(text, trace);
        name_lost_flushes(trace);
        return said(reach_warnings(trace::TraceReader(trace)));
    };
    const std::string code = "function persist module=/bin/prog file=prog.c user=0x5000\n";
    EXPECT_EQ(told(code + "quality unresolved_absent_flushes 0 warning \"none\"\n"), "");
    EXPECT_EQ(
        told(code + "quality unresolved_absent_flushes 1 warning \"some\"\n"
                    "note 1 \"lost flushes\" @persist+4:12\n"),
        "unresolved_absent_flushes: 1 flush could not be attributed to lines of PM and is left "
        "out: nobody touched the page through that mapping, or not before the line was stored "
        "to; what they flush counts as in flight, so a finding about it may be wrong "
        "(persist+0x4 (prog.c:12))\n");
    const std::string many = told("function b module=/bin/prog user=0x5000\n"
                                  "quality unresolved_absent_flushes 19 warning \"some\"\n"
                                  "note 1 \"lost flushes\" @a\n"
                                  "note 6 \"lost flushes\" @b\n"
                                  "note 7 \"lost flushes\" @c\n"
                                  "note 2 \"lost flushes\" @d\n"
                                  "note 3 \"lost flushes\" @b\n");
    EXPECT_TRUE(many.starts_with("unresolved_absent_flushes: 19 flushes could not")) << many;
    EXPECT_TRUE(many.ends_with("(c, b, d, 1 more)\n")) << many;
}

} // namespace
} // namespace fencepost::record
