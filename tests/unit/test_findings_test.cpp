// SPDX-License-Identifier: GPL-2.0-or-later
// What results.db keeps of a finding.
#include <gtest/gtest.h>

#include "replayer/test/grouping.h"
#include "replayer/test/workload_finding.h"
#include "tests/unit/made_explanations.h"
#include "tests/unit/results_fixture.h"

namespace fencepost::test {
namespace {

using findings::Decides;
using findings::kAbsent;
using findings::kLast;
using findings::kPresent;
using findings::Severity;
using oracle::Verdict;

findings::Place place_at(std::string_view role, const trace::EventRef &event,
                         const std::string &function = "", const std::string &operation = "")
{
    findings::Place place = {.role = std::string(role), .at = {.event = event}};
    place.at.code.function = function;
    place.operation = operation;
    return place;
}

// The console does not say who wrote a line; the log does.
TEST(WorkloadFinding, ProcessesAreNotTheKernel)
{
    const std::string log = "6,1,1,-;fs: mounted\n11,2,1,-;BUG: in my checker\n";
    EXPECT_EQ(kernel_lines(log, "[    1.5] BUG: in my checker\n[    1.6] Oops: 0002 [#1]\n"),
              log + "Oops: 0002 [#1]\n");
    EXPECT_EQ(kernel_lines("", "[    1.5] BUG: of a kernel\n"), "BUG: of a kernel\n");
}

TEST_F(ResultsTest, OneArchitecturalStateMakesAFindingABug)
{
    Results results = open();
    results.begin_session({});
    const auto image = results.see({1, 1}, 0, {7, "a", false}).image;
    results.put_finding({.id = "f", .severity = Severity::warning, .image = image});
    results.put_outcome(outcome(image, Verdict::inconsistent), "f");
    results.commit();
    EXPECT_EQ(results.findings().at(0).severity, Severity::warning);
    EXPECT_EQ(results.findings().at(0).note, "relies on an incidental locked instruction");
    EXPECT_TRUE(results.bugs().empty());
    results.see({1, 1}, 0, {8, "b", true});
    results.commit();
    EXPECT_EQ(results.findings().at(0).severity, Severity::bug);
    EXPECT_EQ(results.findings().at(0).note, "");
    EXPECT_EQ(results.bugs(), std::set<std::string>{"f"});
}

TEST_F(ResultsTest, AFindingKeepsWhatItsImagesHaveInCommon)
{
    Results results = open();
    results.begin_session({});
    Finding finding = {.id = "f",
                       .places = {place_at(kAbsent, {30, 3, 13}, "append", "write a"),
                                  place_at(kPresent, {40, 4, 14}, "commit"),
                                  place_at(kLast, {50, 5, 15}, "elsewhere", "fsync b")},
                       .decides = Decides::order,
                       .absent_sites = {3},
                       .present_sites = {4},
                       .image = see(results, {1, 1}, 0).image};
    results.put_outcome(outcome(finding.image, Verdict::inconsistent), "f");
    results.put_finding(finding);
    Finding kept = results.findings().at(0);
    EXPECT_EQ(kept.kind, findings::Kind::crash_state);
    EXPECT_EQ(kept.decides, Decides::order);
    ASSERT_EQ(kept.places.size(), 3u);
    EXPECT_EQ(kept.places[0].role, kAbsent);
    EXPECT_EQ(kept.places[0].at.event, (trace::EventRef{30, 3, 13}));
    EXPECT_EQ(kept.places[0].operation, "write a");
    EXPECT_EQ(kept.places[1].role, kPresent);
    EXPECT_EQ(kept.places[1].at.event, (trace::EventRef{40, 4, 14}));
    EXPECT_EQ(kept.places[1].operation, "");
    EXPECT_EQ(kept.places[2].role, kLast);
    EXPECT_EQ(kept.places[2].at.event, (trace::EventRef{50, 5, 15}));
    EXPECT_EQ(kept.places[2].operation, "fsync b");
    EXPECT_EQ(kept.absent_sites, std::vector<trace::SiteId>{3});
    EXPECT_EQ(kept.present_sites, std::vector<trace::SiteId>{4});
    EXPECT_EQ(kept.count, 1u);
    ASSERT_EQ(kept.evidence.size(), 1u);
    EXPECT_EQ(kept.evidence[0].oracle, "mount");
    EXPECT_EQ(kept.evidence[0].verdict, "inconsistent");
    EXPECT_EQ(kept.evidence[0].details, "{\"line\":\"\uFFFD\"}");

    std::erase_if(finding.places, [](const auto &place) { return place.role == kAbsent; });
    finding.absent_sites = {3, 6};
    results.add_to_finding(finding);
    kept = results.findings().at(0);
    EXPECT_EQ(kept.decides, Decides::order);
    EXPECT_EQ(site_of(kept, kAbsent), 0u);
    EXPECT_EQ(site_of(kept, kPresent), 4u);
    EXPECT_EQ(kept.absent_sites, (std::vector<trace::SiteId>{3, 6}));
    EXPECT_EQ(kept.present_sites, std::vector<trace::SiteId>{4});
    EXPECT_EQ(kept.count, 2u);
}

TEST_F(ResultsTest, AFindingTakesTheImageThatShowsItBetter)
{
    Results results = open();
    results.begin_session({});
    Finding finding = {.id = "f",
                       .places = {place_at(kPresent, {40, 4, 14}, "commit"),
                                  place_at(kLast, {50, 5, 15}, "elsewhere", "fsync b")},
                       .image = see(results, {1, 1}, 0).image};
    results.put_outcome(outcome(finding.image, Verdict::inconsistent), "f");
    results.put_finding(finding);
    finding.state = "another";
    results.put_finding(finding);
    const Finding kept = results.findings().at(0);
    EXPECT_EQ(kept.state, "another");
    EXPECT_EQ(site_of(kept, kLast), 5u);
    EXPECT_EQ(kept.count, 2u);
    results.commit();
    trace::Database database(path(), SQLITE_OPEN_READONLY);
    trace::Statement row(database.get(),
                         "SELECT absent_name, present_name, last_name FROM finding");
    ASSERT_TRUE(row.step());
    EXPECT_TRUE(row.is_null(0));
    EXPECT_EQ(row.text(1), "commit");
    EXPECT_EQ(row.text(2), "elsewhere");
}

TEST_F(ResultsTest, AFindingHasAllWordsAndStates)
{
    Results results = open();
    results.begin_session({});
    for (std::uint64_t number = 1; number <= 12; ++number) {
        const auto image =
            results.see({number, 1}, 0, {number, "s" + std::to_string(number)}).image;
        Outcome failed = outcome(image, Verdict::inconsistent);
        failed.judgement.evidence[0].summary = number > 9 ? "odd" : number > 7 ? "bad" : "wrong";
        failed.judgement.evidence.push_back({"mount", Verdict::inconsistent, "more", {}});
        if (number == 12) { // what is graver decides
            failed.judgement.verdict = Verdict::recovery_failed;
            failed.judgement.evidence.push_back({"mount", Verdict::recovery_failed, "dead", {}});
        }
        results.put_outcome(failed, "f");
        const Finding finding = {.id = "f",
                                 .summary = "wrong",
                                 .verdict = "inconsistent",
                                 .oracle = "mount",
                                 .decides = Decides::absent,
                                 .absent_sites = {3},
                                 .absent_code = {"append [app]", "\xff"},
                                 .scope = "main",
                                 .callers = {"main [app]"},
                                 .other_ids = {"0123456789ab"},
                                 .unfenced = true,
                                 .image = image};
        if (number == 1)
            results.put_finding(finding);
        else
            results.add_to_finding(finding);
    }
    results.see({1, 1}, 0, {99, "another way to the first"});
    const Finding kept = results.findings().at(0);
    EXPECT_EQ(kept.absent_code, (std::vector<std::string>{"append [app]", "\uFFFD"}));
    EXPECT_TRUE(kept.present_code.empty());
    EXPECT_EQ(kept.scope, "main");
    EXPECT_EQ(kept.callers, (std::vector<std::string>{"main [app]"}));
    EXPECT_EQ(kept.other_ids, (std::vector<std::string>{"0123456789ab"}));
    EXPECT_TRUE(kept.unfenced);
    EXPECT_EQ(kept.count, 12u);
    EXPECT_EQ(kept.state_count, 13u);
    ASSERT_EQ(kept.states.size(), findings::kMostStates);
    EXPECT_EQ(kept.states[0], "another way to the first");
    EXPECT_EQ(kept.states[1], "s1");
    ASSERT_EQ(kept.also.size(), 3u) << "not its own";
    EXPECT_EQ(kept.also[0].summary, "bad");
    EXPECT_EQ(kept.also[0].count, 2u);
    EXPECT_EQ(kept.also[1].summary, "odd");
    EXPECT_EQ(kept.also[1].count, 2u);
    EXPECT_EQ(kept.also[2].summary, "dead");
    EXPECT_EQ(kept.also[2].verdict, "recovery_failed");
    // A resumed test knows all of them.
    Explanation lacking = guess({3}, {});
    lacking.missing[0].code.name = "append [app]";
    EXPECT_EQ(Grouping({kept}).explained_by({"mount", Verdict::inconsistent, "bad", {}}, lacking),
              "f");
}

// Files may be anybody's: what decides is what is there.
TEST_F(ResultsTest, AFindingThatLacksItsStoresIsUnknown)
{
    {
        Results results = open();
        results.begin_session({});
        results.put_finding({.id = "0123456789ab",
                             .places = {place_at(kAbsent, {30, 3, 0})},
                             .verdict = "inconsistent",
                             .decides = Decides::absent,
                             .absent_sites = {3}});
        EXPECT_EQ(results.findings().at(0).decides, Decides::absent);
        results.commit();
    }
    trace::Database(path(), SQLITE_OPEN_READWRITE)
        .execute("UPDATE finding SET decides = 'order', absent_sites = '[x'");
    const Finding kept = open().findings().at(0);
    EXPECT_EQ(kept.decides, Decides::unknown);
    EXPECT_EQ(site_of(kept, kAbsent), 0u);
    const Finding explained =
        Grouping({kept}).place({"", Verdict::inconsistent, "", {}}, tested(0, 9)).finding;
    EXPECT_EQ(explained.id, "0123456789ab");
    EXPECT_EQ(site_of(explained, kAbsent), 0u);
}

} // namespace
} // namespace fencepost::test
