// SPDX-License-Identifier: GPL-2.0-or-later
// results.db: what is kept, what is tested again, and which failures are one finding.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "replayer/test/grouping.h"
#include "replayer/test/results.h"
#include "replayer/test/workload_finding.h"

namespace fencepost::test {
namespace {

using findings::Decides;
using findings::kAbsent;
using findings::kLast;
using findings::kPresent;
using findings::Severity;
using oracle::Verdict;

using test::Explanation;

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

// Sites that tests found to decide; 0: none.
Explanation tested(trace::SiteId absent, trace::SiteId present, Explanation explanation = {})
{
    explanation.decided.emplace();
    if (absent != 0)
        explanation.decided->absent = {.seq = absent, .site = absent};
    if (present != 0)
        explanation.decided->present = {.seq = present, .site = present};
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

class ResultsTest : public testing::Test {
protected:
    std::filesystem::path path() const { return directory_.path() / "results.db"; }
    Results open(const std::string &trace = "t", const std::string &oracles = "mount")
    {
        return Results(path(), {trace, oracles});
    }
    static Results::Seen see(Results &results, const image::Hash128 &identity,
                             std::uint64_t expectation = 0)
    {
        return results.see(identity, expectation, {7, "a"});
    }
    static test::Outcome outcome(std::uint64_t image, Verdict verdict)
    {
        test::Outcome made;
        made.image = image;
        made.judgement.verdict = verdict;
        if (verdict != Verdict::pass)
            made.judgement.evidence.push_back(
                {"mount", verdict, "it is wrong", oracle::Details::of_texts({{"line", "\xff"}})});
        return made;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "results"};
};

// The console does not say who wrote a line; the log does.
TEST(WorkloadFinding, ProcessesAreNotTheKernel)
{
    const std::string log = "6,1,1,-;fs: mounted\n11,2,1,-;BUG: in my checker\n";
    EXPECT_EQ(kernel_lines(log, "[    1.5] BUG: in my checker\n[    1.6] Oops: 0002 [#1]\n"),
              log + "Oops: 0002 [#1]\n");
    EXPECT_EQ(kernel_lines("", "[    1.5] BUG: of a kernel\n"), "BUG: of a kernel\n");
}

TEST_F(ResultsTest, AVerdictStaysAndWhatHasNoneIsTested)
{
    {
        Results results = open();
        results.begin_session({});
        EXPECT_EQ(see(results, {1, 1}, 0).image, 1u);
        EXPECT_EQ(see(results, {2, 1}, 0).image, 2u);
        EXPECT_EQ(see(results, {3, 1}, 0).image, 3u);
        results.put_outcome(outcome(1, Verdict::pass), "");
        results.put_outcome(outcome(2, Verdict::inconsistent), "f");
        results.commit();
        // Never committed: as if the process had been killed here.
        results.put_outcome(outcome(3, Verdict::pass), "");
    }
    Results results = open();
    results.begin_session({});
    EXPECT_FALSE(see(results, {1, 1}, 0).untested);
    EXPECT_FALSE(see(results, {2, 1}, 0).untested);
    EXPECT_TRUE(see(results, {3, 1}, 0).untested);
    EXPECT_EQ(see(results, {3, 1}, 0).image, 3u);
    EXPECT_TRUE(see(results, {1, 2}, 0).untested) << "the high half of the identity counts";
    EXPECT_EQ(results.verdicts(),
              (std::map<std::string, std::uint64_t>{{"inconsistent", 1}, {"pass", 1}}));
}

TEST_F(ResultsTest, AnImageIsTestedOnceForEachExpectation)
{
    Results results = open();
    results.begin_session({});
    const auto first = see(results, {1, 1}, 0);
    results.put_outcome(outcome(first.image, Verdict::pass), "");
    EXPECT_TRUE(see(results, {1, 1}, 1).untested);
    EXPECT_FALSE(see(results, {1, 1}, 0).untested);
}

TEST_F(ResultsTest, AnInfraErrorIsTestedAgainInTheNextSessionOnly)
{
    {
        Results results = open();
        results.begin_session({});
        results.put_outcome(outcome(see(results, {1, 1}, 0).image, Verdict::infra_error), "");
        EXPECT_FALSE(see(results, {1, 1}, 0).untested);
        results.commit();
    }
    Results results = open();
    results.begin_session({});
    EXPECT_TRUE(see(results, {1, 1}, 0).untested);
    results.put_outcome(outcome(1, Verdict::pass), "");
    EXPECT_FALSE(see(results, {1, 1}, 0).untested);
    EXPECT_EQ(results.verdicts(), (std::map<std::string, std::uint64_t>{{"pass", 1}}));
}

TEST_F(ResultsTest, ProbesHaveRows)
{
    Results results = open();
    results.begin_session({});
    const auto image = see(results, {1, 1}).image;
    states::CrashState state;
    state.trace = "0123abcd";
    state.seq = 9;
    state.choice.cut = states::Choice::Cut::with_until;
    state.choice.cut_seq = 4;
    results.put_probes({.image = image, .probes = {{state, Verdict::inconsistent, true, 0.5}}});
    results.commit();
    trace::Database database(path(), SQLITE_OPEN_READONLY);
    trace::Statement rows(database.get(),
                          "SELECT image, state, verdict, alike, seconds FROM probe");
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(rows.number(0), image);
    EXPECT_EQ(rows.text(1), "0123abcd-aea-9-nw4");
    EXPECT_EQ(rows.text(2), "inconsistent");
    EXPECT_EQ(rows.number(3), 1u);
    EXPECT_FALSE(rows.step());
}

TEST_F(ResultsTest, AnOriginIsKeptOnce)
{
    Results results = open();
    results.begin_session({});
    results.see({1, 1}, 0, {7, "a"});
    results.see({1, 1}, 0, {9, "b"});
    results.see({1, 1}, 0, {7, "a"});
    EXPECT_EQ(results.states(), 2u);
}

TEST_F(ResultsTest, TheBaselineIsJudgedOnce)
{
    Baseline baseline;
    baseline.images = {kInitialImage};
    baseline.missing = "the workload failed";
    baseline.used = {{10, 3}, {12, 4}};
    baseline.objections = {{kInitialImage,
                            {"mount", Verdict::inconsistent, "fs: chatty",
                             oracle::Details::of_texts({{"line", "x"}})}},
                           {kInitialImage, {"program", Verdict::inconsistent, "status 1", {}}}};
    {
        Results results = open();
        EXPECT_FALSE(results.baseline());
        results.put_baseline(baseline);
    }
    const auto kept = open().baseline();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->images, baseline.images);
    EXPECT_EQ(kept->missing, baseline.missing);
    EXPECT_EQ(kept->used, baseline.used);
    ASSERT_EQ(kept->objections.size(), 2u);
    EXPECT_EQ(kept->objections[0].evidence.summary, "fs: chatty");
    EXPECT_EQ(kept->objections[0].evidence.details["line"], "x");
    EXPECT_TRUE(kept->objections[0].masked());
    EXPECT_FALSE(kept->objections[1].masked());
    EXPECT_TRUE(kept->fails()) << "what a recovery command says is not masked";
    EXPECT_FALSE(kept->stops());
}

TEST_F(ResultsTest, VerdictsOfOtherSubjectsAreRefused)
{
    open().commit();
    EXPECT_NO_THROW(open());
    for (const auto &[trace, oracles] :
         {std::pair("u", "mount"), std::pair("t", "mount,semantic")}) {
        try {
            open(trace, oracles);
            FAIL() << "mixed with others";
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
        }
    }
}

TEST_F(ResultsTest, AForeignFileIsRefusedAndLeftAlone)
{
    write_file(path(), "these are not results, but a text that somebody wrote and wants to keep");
    const std::string before = read_file(path());
    EXPECT_THROW(open(), Error);
    EXPECT_EQ(read_file(path()), before);
}

TEST_F(ResultsTest, WhatIsWrongWithTheFileIsNotSaidOfATrace)
{
    const auto refusal = [&] {
        try {
            open().verdicts();
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace);
            return std::string(error.what());
        }
        return std::string();
    };
    write_file(path(), std::string(5000, 'x'));
    EXPECT_EQ(refusal(),
              path().string() +
                  " is not the results of a test: it is not a SQLite file; --restart forgets "
                  "it and tests anew");
    std::filesystem::remove(path());
    open().commit();
    trace::Database(path(), SQLITE_OPEN_READWRITE).execute("DROP TABLE origin");
    EXPECT_EQ(refusal(),
              path().string() +
                  " is damaged: its tables are not those of results; --restart forgets it and "
                  "tests anew");
    std::filesystem::remove(path());
    open().commit();
    trace::Database(path(), SQLITE_OPEN_READWRITE)
        .execute("CREATE TRIGGER t AFTER INSERT ON image BEGIN DELETE FROM finding; END");
    EXPECT_NE(refusal().find("its tables are not those of results"), std::string::npos);
}

// An id becomes the name of a folder.
TEST_F(ResultsTest, AnIdThatIsAPathIsRefused)
{
    for (const char *id : {"../../../../tmp/x", "/etc/cron.d/x", "0123456789a/", "", "."}) {
        {
            Results results = open();
            results.begin_session({});
            results.put_finding({.id = id});
            results.commit();
        }
        try {
            open();
            ADD_FAILURE() << "'" << id << "' was taken";
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace);
            EXPECT_EQ(error.what(),
                      path().string() +
                          " is damaged: a finding has an id that fencepost does not give; "
                          "--restart forgets it and tests anew");
        }
        std::filesystem::remove(path());
    }
}

// Verdicts belong to what they come from.
TEST_F(ResultsTest, AChangeOfWhatProducedTheVerdictsIsNamed)
{
    ResultsSubject subject = {
        "t", "mount", {{"guest 4 k", "the kernel k", "1"}, {"oracle o", "the oracle o", "2"}}};
    EXPECT_EQ(changed_since(path(), subject), "") << "there are no results";
    {
        Results results(path(), subject);
        results.begin_session({});
    }
    EXPECT_EQ(changed_since(path(), subject), "");
    subject.producers[1].digest = "3";
    EXPECT_EQ(changed_since(path(), subject), "the oracle o");
    subject.producers[0].digest = "3";
    EXPECT_EQ(changed_since(path(), subject), "the kernel k");
    subject.producers = {{"guest 4 k", "the kernel k", "1"}};
    EXPECT_EQ(changed_since(path(), subject), "what judges") << "one is gone";
    subject.producers = {{"guest 4 k", "the kernel k", "1"},
                         {"oracle o", "the oracle o", "2"},
                         {"test", "[test]", "4"}};
    EXPECT_EQ(changed_since(path(), subject), "[test]") << "one is new";
    subject.oracles = "usable";
    EXPECT_THROW(check_results(path(), subject), Error);
    EXPECT_THROW(changed_since(path(), subject), Error);
}

TEST_F(ResultsTest, TwoTestersExcludeEachOther)
{
    Results results = open();
    EXPECT_THROW(open(), Error);
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
    EXPECT_NE(place(tested(4, 9), "other").id, first.id) << "another thing is wrong";
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

TEST_F(GroupingTest, IdsAreTheSameInAnotherRun)
{
    const Finding first = place(tested(4, 9));
    EXPECT_EQ(Grouping({}).place(evidence(), tested(5, 0)).finding.id, first.id);
    EXPECT_NE(place(tested(0, 3)).id, first.id);
}

TEST_F(GroupingTest, AResumedTestGoesOnWithItsFindings)
{
    const Finding known = place(tested(4, 9));
    Grouping resumed({known});
    EXPECT_EQ(resumed.explained_by(evidence(), guess({4}, {9})), known.id);
    EXPECT_FALSE(resumed.place(evidence(), tested(4, 9)).shows);
    EXPECT_TRUE(resumed.place(evidence(), tested(5, 8)).shows);
}

} // namespace
} // namespace fencepost::test
