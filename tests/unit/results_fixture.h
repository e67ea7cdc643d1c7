// SPDX-License-Identifier: GPL-2.0-or-later
// A results.db of its own, and outcomes for it.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/test/results.h"

namespace fencepost::test {

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
    static Outcome outcome(std::uint64_t image, oracle::Verdict verdict)
    {
        Outcome made;
        made.image = image;
        made.judgement.verdict = verdict;
        if (verdict != oracle::Verdict::pass)
            made.judgement.evidence.push_back(
                {"mount", verdict, "it is wrong", oracle::Details::of_texts({{"line", "\xff"}})});
        return made;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "results"};
};

} // namespace fencepost::test
