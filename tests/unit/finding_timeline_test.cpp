// SPDX-License-Identifier: GPL-2.0-or-later
// Timelines of findings in each format: what places belong to is anybody's text.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/finding_text.h"
#include "analyzer/report/html.h"
#include "analyzer/report/run_json.h"

namespace fencepost::report {
namespace {

// A row for each; what the one above belongs to is not said again.
TEST(ReportTimeline, SaysWhatAPlaceBelongsTo)
{
    const auto row = [](std::uint64_t seq, const char *belongs_to) {
        return TimelineRow{.first_seq = seq,
                           .last_seq = seq,
                           .what = "store",
                           .code = "append",
                           .instruction = "mov",
                           .address = seq * 64,
                           .place = "pmem0+0x40",
                           .belongs_to = belongs_to,
                           .size = 8};
    };
    ShownFinding shown = {
        .finding = {.id = "0123456789ab", .kind = findings::Kind::crash_state, .title = "lost"}};
    shown.timeline = Timeline{.crash_seq = 9};
    shown.timeline->rows = {row(1, "ext4: <b>journal"), row(2, "ext4: <b>journal"), row(3, ""),
                            row(4, "ext4: \x1b[2J")};
    shown.not_annotated = "no <i>debugfs";
    std::vector<std::string> said;
    for (const std::string &line : finding_lines(shown))
        if (line.find("ext4: ") != std::string::npos || line.find("debugfs") != std::string::npos)
            said.push_back(line);
    EXPECT_EQ(said, (std::vector<std::string>{
                        "               ext4: <b>journal", "               ext4: \x1b[2J",
                        "What these places belong to is not known: no <i>debugfs"}));
    const nlohmann::json document = to_json(shown);
    EXPECT_EQ(document["timeline"]["rows"][0]["belongs_to"], "ext4: <b>journal");
    EXPECT_FALSE(document["timeline"]["rows"][2].contains("belongs_to"));
    EXPECT_EQ(document["not_annotated"], "no <i>debugfs");
    RunReport report;
    report.findings = {shown};
    const std::string page = to_html(report);
    EXPECT_NE(page.find("ext4: &lt;b&gt;journal"), std::string::npos);
    EXPECT_NE(page.find("ext4: \\x1b[2J"), std::string::npos);
    EXPECT_NE(page.find("no &lt;i&gt;debugfs"), std::string::npos);
}

} // namespace
} // namespace fencepost::report
