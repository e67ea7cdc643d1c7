// SPDX-License-Identifier: GPL-2.0-or-later
// The oracles on images in a guest: a healthy one passes, damage of many kinds is caught.
#include <gtest/gtest.h>

#include "replayer/oracle/image_judge.h"
#include "tests/guest/world.h"

namespace fencepost::oracle {
namespace {

using namespace fencepost::guest;

agent::JobStep mount_step(const std::string &type)
{
    agent::JobStep step;
    step.kind = agent::StepKind::mount;
    step.mount = {"/dev/pmem0", "/mnt/pm", type, "dax"};
    return step;
}

TEST(Oracle, HealthyImagePasses)
{
    World world;
    const auto pm = world.new_pm_file();
    make_file_system(pm, world.source().config.pm[0], "ext4");
    const auto guest = world.restore({pm});
    JudgeSettings settings;
    settings.inputs.workload.steps.push_back(mount_step("ext4"));
    const auto judge = make_judge(settings);
    const std::vector<std::filesystem::path> files = {pm};
    for (int i = 0; i < 20; ++i) {
        const Judgement judgement = judge->judge({*guest, files, 0});
        EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.evidence.at(0).summary;
        if (i > 16)
            fmt::print("{:.4f} s\n", judgement.guest_seconds);
    }
    agent::JudgeRequest request;
    request.mount = mount_step("ext4").mount;
    request.dump = request.usable = true;
    for (int i = 0; i < 20; ++i) {
        const Stopwatch watch;
        const auto reply = guest->with_agent([&](AgentClient &agent) { return agent.judge(request, soon()); });
        if (i > 1)
            continue;
        fmt::print("{:.4f} s, {} entries, {} problems\n{}", watch.seconds(), reply->tree.entries.size(), reply->problems.size(), reply->kernel_log);
        for (const auto &step : reply->steps)
            fmt::print("{} {} {}\n", int(step.step), step.elapsed_usec, step.message);
    }
}

} // namespace
} // namespace fencepost::oracle
