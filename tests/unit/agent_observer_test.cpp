// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent notes while a workload runs, on directories of the host.
#include "guest-images/agent/observer.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/files.h"

namespace fencepost::agent {
namespace {

class Observing : public testing::Test {
protected:
    Observing()
    {
        plan_.root = directory_.path() / "root";
        make_directories(plan_.root);
    }

    std::string path(const std::string &name) const { return plan_.root + "/" + name; }
    std::string file() const { return directory_.path() / "observations"; }

    TemporaryDirectory directory_{"/tmp", "fp-observer-"};
    ObservationPlan plan_;
};

TEST_F(Observing, WhatDoesNotFitIsSaid)
{
    plan_.limits.blocks = UINT32_MAX;
    Observer observer(plan_, file());
    observer.note({});
    // Blocks that are all different, more than fit.
    std::string bytes(kObservationsLimit, 'x');
    for (std::size_t at = 0; at < bytes.size(); at += kTreeBlock)
        std::memcpy(bytes.data() + at, &at, sizeof at);
    write_file(path("large"), bytes);
    observer.note({});
    write_file(path("large"), "");
    observer.note({});
    const std::vector<Observation> seen = read_observations(file());
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].moment, Moment::start);
    EXPECT_EQ(seen[1].moment, Moment::overflow);
}

} // namespace
} // namespace fencepost::agent
