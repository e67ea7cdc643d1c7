// SPDX-License-Identifier: GPL-2.0-or-later
// Which failures are one finding, and what results.db keeps of it.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "replayer/test/grouping.h"
#include "replayer/test/workload_finding.h"
#include "tests/unit/results_fixture.h"

namespace fencepost::test {
namespace {

using findings::Decides;
using findings::kAbsent;
using findings::kLast;
using findings::kPresent;
using findings::Severity;
using oracle::Verdict;

// Sites of stores in flight that an image lacks and has; nothing was tested.
Explanation guess(const std::vector<trace::SiteId> &missing,
                  const std::vector<trace::SiteId> &present)
{
    Explanation explanation;
    for (const trace::SiteId site : missing)
        explanation.missing.push_back({.seq = site, .site = site});
    for (const trace::SiteId site : present)
        explanation.present.push_back({.seq = site, .site = site});
    return explanation;
}

// Sites that tests found to decide; 0: none. Each is a function of its own, called by one that
// `main` calls.
Explanation tested(trace::SiteId absent, trace::SiteId present, Explanation explanation = {})
{
    explanation.decided.emplace();
    if (absent != 0) {
        explanation.decided->absent = {.seq = absent, .site = absent};
        explanation.absent_code = {"f" + std::to_string(absent), {"operation", "main"}};
    }
    if (present != 0) {
        explanation.decided->present = {.seq = present, .site = present};
        explanation.present_code = {"f" + std::to_string(present), {"operation", "main"}};
    }
    explanation.last = {"last", {"operation", "main"}};
    return explanation;
}

// As tested(), with names of functions, the innermost first.
Explanation in_code(const std::vector<std::string> &absent, const std::vector<std::string> &present)
{
    static trace::SiteId site = 100;
    const auto code = [](const std::vector<std::string> &names) {
        return StoreCode{names.front(), {names.begin() + 1, names.end()}};
    };
    site += 2;
    Explanation explanation = tested(absent.empty() ? 0 : site, present.empty() ? 0 : site + 1);
    if (!absent.empty())
        explanation.absent_code = code(absent);
    if (!present.empty())
        explanation.present_code = code(present);
    return explanation;
}

findings::Place place_at(std::string_view role, const trace::EventRef &event,
                         const std::string &function = "", const std::string &operation = "")
{
    findings::Place place = {.role = std::string(role), .at = {.event = event}};
    place.at.code.function = function;
    place.operation = operation;
    return place;
}

// 0: it has no such place.
trace::SiteId site_of(const Finding &finding, std::string_view role)
{
    const findings::Place *place = place_of(finding, role);
    return place ? place->at.event.site : 0;
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
    EXPECT_EQ(
        Grouping({kept}).explained_by({"mount", Verdict::inconsistent, "bad", {}}, guess({3}, {})),
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

class GroupingTest : public testing::Test {
protected:
    static oracle::Evidence evidence(const std::string &summary = "wrong")
    {
        return {"mount", Verdict::inconsistent, summary, {}};
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

TEST_F(GroupingTest, AFlagWithoutPartsOfItsRecordIsOneFinding)
{
    const Finding first = place(tested(4, 9));
    EXPECT_EQ(first.decides, Decides::order);
    EXPECT_EQ(site_of(first, kAbsent), 4u);
    EXPECT_EQ(site_of(first, kPresent), 9u);
    EXPECT_EQ(site_of(place(tested(4, 9)), kAbsent), 4u);
    const Finding other_part = place(tested(5, 9));
    EXPECT_EQ(other_part.id, first.id);
    EXPECT_EQ(other_part.decides, Decides::order);
    EXPECT_EQ(site_of(other_part, kAbsent), 0u) << "it is not the same for all";
    EXPECT_EQ(other_part.absent_sites, (std::vector<trace::SiteId>{4, 5}));
    EXPECT_EQ(site_of(other_part, kPresent), 9u);
    const Finding guaranteed = place(tested(5, 0));
    EXPECT_EQ(guaranteed.id, first.id) << "the flag is guaranteed by now";
    EXPECT_EQ(site_of(guaranteed, kPresent), 9u);
    EXPECT_EQ(guaranteed.count, 4u);

    EXPECT_NE(place(tested(5, 0, guess({5, 9}, {}))).id, first.id) << "the flag is not there";
    EXPECT_NE(place(tested(5, 8)).id, first.id) << "another flag";
    EXPECT_NE(place(tested(9, 4)).id, first.id) << "absent is not present";
    EXPECT_EQ(place(tested(4, 9), "other").id, first.id) << "whatever it breaks";
}

TEST_F(GroupingTest, ALogThatIsMissingWithSeveralStoresIsOneFinding)
{
    const Finding first = place(tested(4, 9));
    const Finding other_store = place(tested(4, 8));
    EXPECT_EQ(other_store.id, first.id);
    EXPECT_EQ(other_store.decides, Decides::order);
    EXPECT_EQ(site_of(other_store, kAbsent), 4u);
    EXPECT_EQ(site_of(other_store, kPresent), 0u);
    EXPECT_NE(place(tested(5, 9)).id, first.id) << "9 does not decide all of them";
    EXPECT_NE(place(tested(5, 0)).id, first.id);
    EXPECT_EQ(place(tested(4, 0)).decides, Decides::order) << "8 and 9 are guaranteed by now";
    const Finding alone = place(tested(4, 0, guess({4, 8, 9}, {})));
    EXPECT_EQ(alone.id, first.id);
    EXPECT_EQ(alone.decides, Decides::absent);
    EXPECT_EQ(place(tested(4, 7)).decides, Decides::absent)
        << "it is needed without the others too";
}

TEST_F(GroupingTest, WhatAnImageRefutesDecidesNoMore)
{
    const Finding first = place(tested(4, 9));
    const Finding refuted = place(tested(4, 0, guess({4, 9}, {})));
    EXPECT_EQ(refuted.id, first.id);
    EXPECT_EQ(refuted.decides, Decides::absent) << "it fails though 9 is not there";
    const Finding second = place(tested(1, 2), "other");
    EXPECT_EQ(place(tested(0, 2), "other").id, second.id);
    EXPECT_EQ(place(tested(0, 2), "other").decides, Decides::present) << "though 1 is there";
}

TEST_F(GroupingTest, FindingsDoNotGrowTogether)
{
    const Finding first = place(tested(4, 9));
    const Finding second = place(tested(5, 8));
    EXPECT_EQ(place(tested(4, 8)).id, first.id);
    EXPECT_EQ(place(tested(5, 8)).id, second.id);
    EXPECT_EQ(place(tested(5, 9)).id, second.id) << "9 decides the first one no more";
}

TEST_F(GroupingTest, WhatDecidesMayBeGuaranteedLater)
{
    const Finding first = place(tested(0, 9));
    EXPECT_EQ(first.decides, Decides::present);
    EXPECT_NE(place(tested(0, 0, guess({9}, {}))).id, first.id)
        << "it fails though the store of 9 is not there";
    EXPECT_EQ(place(tested(0, 0, guess({3}, {4}))).id, first.id);
}

TEST_F(GroupingTest, NothingInFlightDecides)
{
    const Finding first = place(tested(0, 0));
    EXPECT_EQ(first.decides, Decides::neither);
    EXPECT_EQ(place(tested(0, 0)).id, first.id);
    EXPECT_NE(place(tested(3, 0)).id, first.id);
    EXPECT_EQ(like(guess({5}, {4})), "") << "every image is asked about";
}

TEST_F(GroupingTest, WhatIsLikeOthersNeedsNoTests)
{
    EXPECT_EQ(like(guess({4}, {9})), "");
    const Finding order = place(tested(4, 9));
    EXPECT_EQ(like(guess({4, 5}, {8, 9})), order.id);
    EXPECT_EQ(like(guess({4}, {8})), "") << "9 may be guaranteed, or not executed";
    EXPECT_EQ(like(guess({4, 9}, {})), "") << "9 is not there";
    EXPECT_EQ(like(guess({5}, {4, 9})), "") << "4 is there";
    EXPECT_EQ(like(guess({4}, {9}), "other"), "");

    Explanation explained = guess({4}, {9});
    explained.like = order.id;
    place(tested(1, 0));
    EXPECT_EQ(place(explained).id, order.id);
    EXPECT_EQ(place(explained).decides, Decides::order) << "a guess takes nothing away";
    // What it was like may have changed by the time it is placed.
    place(tested(5, 9));
    EXPECT_EQ(place(explained).id, order.id);
    EXPECT_EQ(like(guess({5}, {9})), order.id) << "as without another part of the record";
    EXPECT_EQ(like(guess({7}, {9})), "") << "which is not known to be one";
    EXPECT_EQ(like(guess({}, {9})), "") << "it lacks nothing";

    const Finding absent = place(tested(7, 0), "absent");
    EXPECT_EQ(like(guess({7}, {}), "absent"), absent.id);
    const Finding present = place(tested(0, 6), "present");
    EXPECT_EQ(like(guess({}, {6}), "present"), present.id);
}

TEST_F(GroupingTest, WhatCouldNotBeFoundOutMakesOneFinding)
{
    const Finding first = place(guess({1}, {2}));
    EXPECT_EQ(first.decides, Decides::unknown);
    for (unsigned i = 0; i < 9; ++i)
        EXPECT_EQ(place(guess({3}, {})).id, first.id);
    EXPECT_EQ(like(guess({3}, {})), "") << "nothing was tried";
    const Grouping::Placed explained = grouping_.place(evidence(), tested(4, 9));
    EXPECT_EQ(explained.finding.id, first.id);
    EXPECT_TRUE(explained.shows);
    EXPECT_EQ(explained.finding.decides, Decides::order);
    EXPECT_EQ(explained.finding.count, 11u);
    EXPECT_FALSE(grouping_.place(evidence(), tested(4, 9)).shows);
    EXPECT_NE(place(tested(5, 8)).id, first.id);
    EXPECT_EQ(place(guess({8}, {})).id, first.id) << "no reason for one more";
}

TEST_F(GroupingTest, NothingIsTriedInVainAgainAndAgain)
{
    Explanation in_vain = guess({1}, {2});
    in_vain.probing_failed = true;
    const Finding first = place(in_vain);
    place(in_vain);
    EXPECT_EQ(like(guess({1}, {2})), "") << "the next may be easier";
    place(in_vain);
    EXPECT_EQ(like(guess({1}, {2})), first.id);
    EXPECT_EQ(like(guess({1}, {2}), "other"), "");
    // The next session tries again.
    EXPECT_EQ(Grouping({first}).explained_by(evidence(), guess({1}, {2})), "");
}

TEST_F(GroupingTest, AResumedTestGoesOnWithItsFindings)
{
    const Finding known = place(tested(4, 9));
    Grouping resumed({known});
    EXPECT_EQ(resumed.explained_by(evidence(), guess({4}, {9})), known.id);
    EXPECT_FALSE(resumed.place(evidence(), tested(4, 9)).shows);
    EXPECT_TRUE(resumed.place(evidence(), tested(5, 8)).shows);
}

// A journal that is told to be durable before what it records, as everybody's calls of it show.
TEST_F(GroupingTest, AFunctionOutOfOrderIsOneFindingWhateverItBreaks)
{
    const Finding first = place(in_code({"commit", "make"}, {"commit", "make"}), "no block");
    EXPECT_EQ(place(in_code({"commit", "rename"}, {"commit", "rename"}), "no inode").id, first.id);
    EXPECT_EQ(place(in_code({}, {"commit", "unlink"}), "links").id, first.id);
    EXPECT_EQ(place(in_code({"commit", "write"}, {}), "zeros").id, first.id);
    const oracle::Evidence no_mount = {"mount", Verdict::recovery_failed, "mount fails", {}};
    const auto mounted = grouping_.place(no_mount, in_code({"commit", "make"}, {"commit", "make"}));
    EXPECT_EQ(mounted.finding.id, first.id);
    EXPECT_FALSE(mounted.shows);
    EXPECT_EQ(mounted.finding.summary, "no block");
    const oracle::Evidence oops = {"mount", Verdict::guest_crash, "oops", {}};
    EXPECT_NE(grouping_.place(oops, in_code({"commit", "make"}, {"commit", "make"})).finding.id,
              first.id)
        << "recovery must not crash, whatever it finds";
}

TEST_F(GroupingTest, WhoeverForgetsSomethingBeforeACommitHasAFinding)
{
    const Finding inode = place(in_code({"new_inode", "make"}, {"commit", "make"}), "no inode");
    const Finding data = place(in_code({"write"}, {"commit", "write"}), "zeros");
    EXPECT_NE(data.id, inode.id) << "that the commit persists is no mistake";
    EXPECT_EQ(place(in_code({"new_inode", "make"}, {"commit", "make"}), "zeros").id, inode.id);
    EXPECT_EQ(place(in_code({"write"}, {"extend", "write"}), "size").id, data.id);
    const Finding rename = place(in_code({}, {"commit", "rename"}), "links");
    EXPECT_NE(rename.id, inode.id);
    EXPECT_NE(place(in_code({}, {"commit", "unlink"}), "orphan").id, rename.id)
        << "two operations that commit twice";
    EXPECT_EQ(place(in_code({}, {"commit", "rename"}), "orphan").id, rename.id);
}

TEST_F(GroupingTest, AFunctionIsInChargeOfWhatItCalls)
{
    const Finding first =
        place(in_code({"new_node", "insert", "main"}, {"insert", "main"}), "keys");
    EXPECT_EQ(place(in_code({"fill", "with_key", "insert"}, {"insert", "main"}), "value").id,
              first.id);
    const Finding more =
        place(in_code({"fill", "with_key", "insert"}, {"new_node", "insert"}), "odd");
    EXPECT_EQ(more.id, first.id) << "the root is guaranteed by now";
}

TEST_F(GroupingTest, WhatIsGuaranteedBelongsToItsOperation)
{
    const Finding first = place(in_code({}, {"commit", "rename"}), "links");
    Explanation nothing = in_code({}, {});
    nothing.last = {"store", {"rename", "vfs_rename"}};
    EXPECT_EQ(place(nothing, "orphan").id, first.id);
    nothing.last = {"store", {"unlink"}};
    const Finding other = place(nothing, "size");
    EXPECT_NE(other.id, first.id);
    EXPECT_EQ(place(nothing, "bytes").id, other.id);
}

TEST_F(GroupingTest, WhatWasNotTestedIsNoNewFindingIfItIsLikeAnother)
{
    const Finding first = place(tested(4, 9));
    EXPECT_EQ(place(guess({4}, {9}), "other").id, first.id);
    EXPECT_NE(place(guess({5}, {9}), "another").id, first.id);
}

TEST_F(GroupingTest, AnIdIsNeverThatOfAnotherFinding)
{
    const Finding first = place(in_code({"a"}, {"b"}));
    EXPECT_EQ(place(in_code({"c"}, {"b"})).id, first.id);
    Explanation unlike = in_code({"a"}, {"d"});
    unlike.missing = {{.seq = 1, .site = first.present_sites[0]}};
    unlike.missing.push_back({.seq = 1, .site = first.present_sites[0] + 2});
    const Finding second = place(unlike, "d");
    EXPECT_NE(second.id, first.id);
    Grouping alone({});
    EXPECT_EQ(alone.place(evidence(), unlike).finding.id, first.id);
}

// Three bugs in thousands of images, whose words and sites differ, in any order.
TEST(GroupingOfARun, ThreeCausesAreThreeFindings)
{
    std::vector<std::pair<oracle::Evidence, Explanation>> failures;
    for (unsigned i = 0; i < 5000; ++i) {
        const std::string operation = "operation" + std::to_string(i % 7);
        const std::string record = "record" + std::to_string(i % 2);
        failures.push_back({{i % 4 == 0 ? "mount" : "fsck",
                             i % 5 == 0 ? Verdict::recovery_failed : Verdict::inconsistent,
                             "wrong " + std::to_string(i % 11),
                             {}},
                            i % 3 == 0   ? in_code({record, "log", operation}, {"log", operation})
                            : i % 3 == 1 ? in_code({"inode", operation}, {"commit", operation})
                                         : in_code({}, {"commit", "rename", operation})});
    }
    std::set<std::string> ids;
    std::mt19937 random(1);
    for (unsigned run = 0; run < 5; ++run) {
        Grouping grouping({});
        std::map<std::string, std::uint64_t> counts;
        for (const auto &[evidence, explanation] : failures) {
            const Finding finding = grouping.place(evidence, explanation).finding;
            counts[finding.id] = finding.count;
        }
        EXPECT_EQ(counts.size(), 3u);
        for (const auto &[id, count] : counts) {
            EXPECT_NEAR(static_cast<double>(count), 5000.0 / 3, 1);
            ids.insert(id);
        }
        std::shuffle(failures.begin(), failures.end(), random);
    }
    EXPECT_EQ(ids.size(), 3u) << "ids do not depend on what fails first";
}

} // namespace
} // namespace fencepost::test
