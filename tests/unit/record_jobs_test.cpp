// SPDX-License-Identifier: GPL-2.0-or-later
// What a spec makes a guest do, step by step.
#include "replayer/record/jobs.h"

#include <gtest/gtest.h>

namespace fencepost::record {

using namespace run;
namespace {

Spec spec_of(const std::string &text)
{
    return parse_spec(text + "[workload]\nkind = \"script\"\ntext = \"true\"\n", "s.toml",
                      "/nonexistent", FilesFrom::spec_directory);
}

const std::vector<agent::PmDevice> kDevices = {
    {.name = "pmem0", .size_bytes = 64 << 20, .dax = true}};

// A word a step.
std::string steps(const agent::Job &job)
{
    std::string text;
    for (const agent::JobStep &step : job.steps)
        text += describe(step) + "; ";
    return text;
}

TEST(Jobs, WithoutAFileSystemNothingIsFormattedOrMounted)
{
    const Spec spec = spec_of("");
    EXPECT_EQ(steps(setup_job(spec, kDevices)), "");
    EXPECT_EQ(workload_job(spec, kDevices).steps.size(), workload_step(spec) + 1);
    EXPECT_EQ(workload_step(spec), 0u);
}

TEST(Jobs, SetUpMountsOnlyForAScript)
{
    const std::string plain =
        steps(setup_job(spec_of("[file_system]\ntype = \"ext4\"\n"), kDevices));
    EXPECT_NE(plain.find("mkfs"), std::string::npos) << plain;
    EXPECT_EQ(plain.find("mount"), std::string::npos) << plain;
    const std::string with_script = steps(setup_job(
        spec_of("[file_system]\ntype = \"ext4\"\n[setup]\nscript = \"touch a\"\n"), kDevices));
    EXPECT_NE(with_script.find("mount"), std::string::npos) << with_script;
    EXPECT_LT(with_script.find("mkfs"), with_script.find("mount"));
}

TEST(Jobs, TheWorkloadMountsFirst)
{
    const Spec spec = spec_of("[file_system]\ntype = \"ext4\"\n");
    EXPECT_EQ(workload_step(spec), 1u);
    const agent::Job job = workload_job(spec, kDevices);
    EXPECT_TRUE(job.recorded);
    EXPECT_NE(describe(job.steps.at(0)).find("mount"), std::string::npos);
}

} // namespace
} // namespace fencepost::record
