// SPDX-License-Identifier: GPL-2.0-or-later
// Which findings a baseline knows.
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/findings/baseline.h"
#include "base/files.h"
#include "tests/unit/made_findings.h"

namespace fencepost::report {
namespace {

TEST(KnownFindings, ByAllTheirNamesAndForWhomTheyStore)
{
    const TemporaryDirectory directory{testing::TempDir(), "findings"};
    const auto file = directory.path() / "known.json";
    Finding finding = of_states(findings::kAbsent, "set_value");
    finding.other_ids = {"0000000000aa"};
    finding.callers = {"put [app]", "remove [app]"};
    findings::write_baseline(file, {std::span(&finding, 1)}, Overwrite::no);
    const auto is_known = [&](const Finding &changed) {
        std::vector<Finding> findings = {changed};
        findings::KnownFindings known(file);
        known.mark(findings);
        EXPECT_EQ(known.gone(false).empty(), findings[0].known);
        return findings[0].known;
    };
    EXPECT_TRUE(is_known(finding));
    Finding changed = finding;
    changed.callers.pop_back();
    EXPECT_TRUE(is_known(changed)) << "one of the two is fixed";
    changed.callers.push_back("update [app]");
    EXPECT_FALSE(is_known(changed)) << "a function that forgets the flush too";
    changed = finding;
    changed.id = "0000000000aa";
    changed.other_ids.clear();
    EXPECT_TRUE(is_known(changed)) << "another image was the first";
    changed.callers = {"update [app]"};
    EXPECT_FALSE(is_known(changed));
    changed = finding;
    changed.id = "0000000000bb";
    changed.other_ids.clear();
    EXPECT_FALSE(is_known(changed));
    changed.other_ids = {finding.id};
    EXPECT_TRUE(is_known(changed)) << "another image was the first when the file was written";
    EXPECT_EQ(findings::KnownFindings(file).ids(),
              (std::set<std::string>{finding.id, "0000000000aa"}));
}

// Files of older versions say whom a finding's code works for in one word.
TEST(KnownFindings, ByTheScopeOfAnOlderFile)
{
    const TemporaryDirectory directory{testing::TempDir(), "findings"};
    const auto file = directory.path() / "known.json";
    write_file(file, R"({"format": "fencepost baseline 1",
"findings": [{"id": "0123456789ab", "rule": "", "scope": "rename"}]})");
    std::vector<Finding> findings(2, of_states(findings::kPresent, "commit"));
    findings[0].scope = "rename";
    findings[1].scope = "unlink";
    findings::KnownFindings(file).mark(findings);
    EXPECT_TRUE(findings[0].known);
    EXPECT_FALSE(findings[1].known);
}

} // namespace
} // namespace fencepost::report
