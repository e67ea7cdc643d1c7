// SPDX-License-Identifier: GPL-2.0-or-later
// results.db: what is kept, what is tested again, and which failures are one finding.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/test/grouping.h"
#include "replayer/test/results.h"

namespace fencepost::test {
namespace {

using oracle::Verdict;

class ResultsTest : public testing::Test {
protected:
    std::filesystem::path path() const { return directory_.path() / "results.db"; }
    Results open(const std::string &trace = "t", const std::string &oracles = "mount")
    {
        return Results(path(), {trace, oracles});
    }
    static guest::Outcome outcome(std::uint64_t image, Verdict verdict)
    {
        guest::Outcome made;
        made.image = image;
        made.judgement.verdict = verdict;
        if (verdict != Verdict::pass)
            made.judgement.evidence.push_back(
                {"mount", verdict, "it is wrong", {{"line", "\xff"}}});
        return made;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "results"};
};

TEST_F(ResultsTest, AVerdictStaysAndWhatHasNoneIsTested)
{
    {
        Results results = open();
        results.begin_session({});
        EXPECT_EQ(results.see({1, 1}, 0).number, 1u);
        EXPECT_EQ(results.see({2, 1}, 0).number, 2u);
        EXPECT_EQ(results.see({3, 1}, 0).number, 3u);
        results.put_outcome(outcome(1, Verdict::pass), "");
        results.put_outcome(outcome(2, Verdict::inconsistent), "f");
        results.commit();
        // Never committed: as if the process had been killed here.
        results.put_outcome(outcome(3, Verdict::pass), "");
    }
    Results results = open();
    results.begin_session({});
    EXPECT_FALSE(results.see({1, 1}, 0).untested);
    EXPECT_FALSE(results.see({2, 1}, 0).untested);
    EXPECT_TRUE(results.see({3, 1}, 0).untested);
    EXPECT_EQ(results.see({3, 1}, 0).number, 3u);
    EXPECT_TRUE(results.see({1, 2}, 0).untested) << "the high half of the identity counts";
    EXPECT_EQ(results.verdicts(),
              (std::map<std::string, std::uint64_t>{{"inconsistent", 1}, {"pass", 1}}));
}

TEST_F(ResultsTest, AnImageIsTestedOnceForEachExpectation)
{
    Results results = open();
    results.begin_session({});
    const auto first = results.see({1, 1}, 0);
    results.put_outcome(outcome(first.number, Verdict::pass), "");
    EXPECT_TRUE(results.see({1, 1}, 1).untested);
    EXPECT_FALSE(results.see({1, 1}, 0).untested);
}

TEST_F(ResultsTest, AnInfraErrorIsTestedAgainInTheNextSessionOnly)
{
    {
        Results results = open();
        results.begin_session({});
        results.put_outcome(outcome(results.see({1, 1}, 0).number, Verdict::infra_error), "");
        EXPECT_FALSE(results.see({1, 1}, 0).untested);
        results.commit();
    }
    Results results = open();
    results.begin_session({});
    EXPECT_TRUE(results.see({1, 1}, 0).untested);
    results.put_outcome(outcome(1, Verdict::pass), "");
    EXPECT_FALSE(results.see({1, 1}, 0).untested);
    EXPECT_EQ(results.verdicts(), (std::map<std::string, std::uint64_t>{{"pass", 1}}));
}

TEST_F(ResultsTest, AnOriginIsKeptOnce)
{
    Results results = open();
    results.begin_session({});
    const auto image = results.see({1, 1}, 0).number;
    results.add_origin(image, 7, "a", true);
    results.add_origin(image, 9, "b", true);
    results.add_origin(image, 7, "a", true);
    EXPECT_EQ(results.states(), 2u);
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
    EXPECT_EQ(refusal(), path().string() + " is not the results of a test: it is not a SQLite file; --restart forgets "
                                           "it and tests anew");
    std::filesystem::remove(path());
    open().commit();
    trace::Database(path(), SQLITE_OPEN_READWRITE).execute("DROP TABLE origin");
    EXPECT_EQ(refusal(), path().string() + " cannot be used as the results of a test: no such table: origin; "
                                           "--restart forgets it and tests anew");
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
    const auto image = results.see({1, 1}, 0).number;
    results.add_origin(image, 7, "a", false);
    results.put_finding({.id = "f", .severity = "warning", .sites = {3, 4}, .image = image});
    results.put_outcome(outcome(image, Verdict::inconsistent), "f");
    results.commit();
    EXPECT_EQ(results.findings().at(0).severity, "warning");
    EXPECT_EQ(results.findings().at(0).sites, (std::vector<trace::SiteId>{3, 4}));
    results.add_origin(image, 8, "b", true);
    results.commit();
    EXPECT_EQ(results.findings().at(0).severity, "bug");
}

Suspects lacking(const std::vector<trace::SiteId> &sites, trace::SiteId last = 99)
{
    Suspects suspects;
    suspects.last_store = last;
    for (const trace::SiteId site : sites)
        suspects.missing.push_back({suspects.missing.size(), site, 0});
    return suspects;
}

class GroupingTest : public testing::Test {
protected:
    Finding place(const std::string &summary, const Suspects &suspects)
    {
        return grouping_.place({"mount", Verdict::inconsistent, summary, {}}, suspects);
    }

    Grouping grouping_{{}};
};

TEST_F(GroupingTest, AFindingIsWhatOneSiteExplains)
{
    const Finding first = place("wrong", lacking({4, 5, 6}));
    EXPECT_EQ(first.site, 4u);
    EXPECT_EQ(place("wrong", lacking({5, 7})).id, first.id);
    EXPECT_EQ(place("wrong", lacking({5})).site, 5u) << "the site that is missing in all of them";
    EXPECT_NE(place("wrong", lacking({6})).id, first.id) << "has the store that decides";
    EXPECT_NE(place("other", lacking({5})).id, first.id) << "another thing is wrong";
}

TEST_F(GroupingTest, TheOrderInWhichStatesFailDoesNotMatter)
{
    const Finding first = place("wrong", lacking({5}));
    EXPECT_EQ(place("wrong", lacking({4, 5, 6})).id, first.id);
    EXPECT_EQ(place("wrong", lacking({5, 7})).site, 5u);
}

TEST_F(GroupingTest, NothingMissingIsDecidedByTheLastStore)
{
    const Finding first = place("wrong", lacking({}, 7));
    EXPECT_EQ(first.decides, "present");
    EXPECT_EQ(place("wrong", lacking({}, 7)).id, first.id);
    EXPECT_NE(place("wrong", lacking({}, 8)).id, first.id);
    EXPECT_NE(place("wrong", lacking({7}, 7)).id, first.id) << "absent is not present";
}

TEST_F(GroupingTest, IdsAreTheSameInAnotherRun)
{
    const Finding first = place("wrong", lacking({5}));
    EXPECT_EQ(Grouping({}).place({"mount", Verdict::inconsistent, "wrong", {}}, lacking({9})).id,
              first.id);
}

TEST_F(GroupingTest, AResumedTestGoesOnWithItsFindings)
{
    const Finding known = place("wrong", lacking({4, 5}));
    Grouping resumed({known});
    EXPECT_EQ(resumed.place({"mount", Verdict::inconsistent, "wrong", {}}, lacking({3, 5})).id,
              known.id);
    EXPECT_NE(resumed.place({"mount", Verdict::inconsistent, "wrong", {}}, lacking({4})).id,
              known.id);
}

} // namespace
} // namespace fencepost::test
