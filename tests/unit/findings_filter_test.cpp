// SPDX-License-Identifier: GPL-2.0-or-later
// Which findings a list shows.
#include "analyzer/findings/filter.h"

#include <gtest/gtest.h>

#include "made_findings.h"

namespace fencepost::report {
namespace {

TEST(Filter, BySeverityFunctionAndModule)
{
    std::vector<Finding> all = {of_rule("append"), of_rule("insert.part.0", "put"),
                                of_states(findings::kAbsent, "append")};
    all[1].severity = Severity::performance;
    all[2].places[0].at.code.module = "/lib/modules/nova.ko";
    const auto left = [&](const findings::Filter &filter) {
        std::vector<Finding> some = all;
        const std::string sentence = findings::apply(filter, some);
        std::string names;
        for (const Finding &each : some)
            names += each.places[0].at.code.function + " ";
        return names + "| " + sentence;
    };
    EXPECT_EQ(left({}), "append insert.part.0 append | ");
    EXPECT_EQ(left({.severities = {Severity::performance}}),
              "insert.part.0 | 1 of 3 findings shown, 2 left out by --severity");
    EXPECT_EQ(left({.function = "insert"}),
              "insert.part.0 | 1 of 3 findings shown, 2 left out by --function");
    EXPECT_EQ(left({.function = "put"}),
              "insert.part.0 | 1 of 3 findings shown, 2 left out by --function");
    EXPECT_EQ(left({.function = "app"}), "| 0 of 3 findings shown, 3 left out by --function");
    EXPECT_EQ(left({.module = "nova.ko"}),
              "append | 1 of 3 findings shown, 2 left out by --module");
    EXPECT_EQ(left({.severities = {Severity::bug}, .module = "/bin/app"}),
              "append append | 2 of 3 findings shown, 1 left out by --severity, --module");
}

} // namespace
} // namespace fencepost::report
