// SPDX-License-Identifier: GPL-2.0-or-later
// results.db: what is kept of verdicts, what is tested again, and whose file it may be.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/unit/results_fixture.h"

namespace fencepost::test {
namespace {

using oracle::Verdict;

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

TEST_F(ResultsTest, AnOriginIsKeptOnceAndCountsWhenItsImageIsJudged)
{
    Results results = open();
    results.begin_session({});
    results.see({1, 1}, 0, {7, "a"});
    results.see({1, 1}, 0, {9, "b"});
    const auto image = results.see({1, 1}, 0, {7, "a"}).image;
    results.see({2, 2}, 0, {7, "c"});
    EXPECT_EQ(results.states(), 0u);
    results.put_outcome(outcome(image, Verdict::pass), "");
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
    EXPECT_EQ(
        refusal(),
        path().string() +
            " is not the results of a test: it is not a SQLite file; fencepost test --restart "
            "forgets it and tests anew");
    std::filesystem::remove(path());
    open().commit();
    trace::Database(path(), SQLITE_OPEN_READWRITE).execute("DROP TABLE origin");
    EXPECT_EQ(refusal(),
              path().string() +
                  " is damaged: its tables are not those of results; fencepost test --restart "
                  "forgets it and tests anew");
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
                          "fencepost test --restart forgets it and tests anew");
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

} // namespace
} // namespace fencepost::test
