// SPDX-License-Identifier: GPL-2.0-or-later
// Failures that become part of findings, one after the other.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "replayer/test/grouping.h"
#include "tests/unit/made_explanations.h"

namespace fencepost::test {

class GroupingTest : public testing::Test {
protected:
    static oracle::Evidence evidence(const std::string &summary = "wrong")
    {
        return {"mount", oracle::Verdict::inconsistent, summary, {}};
    }
    Finding place(const Explanation &explanation, const std::string &summary = "wrong")
    {
        return grouping_.place(evidence(summary), explanation).finding;
    }
    std::string like(const Explanation &explanation, const std::string &summary = "wrong")
    {
        return grouping_.explained_by(evidence(summary), explanation);
    }

    Grouping grouping_{{}};
};

} // namespace fencepost::test
