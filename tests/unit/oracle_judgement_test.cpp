// SPDX-License-Identifier: GPL-2.0-or-later
// What several oracles come to: the image's verdict, and the evidence that decides.
#include <gtest/gtest.h>

#include "replayer/oracle/judge.h"

namespace fencepost::oracle {
namespace {

Judgement judgement_of(const std::vector<Verdict> &verdicts)
{
    Judgement judgement;
    for (const Verdict verdict : verdicts)
        add_evidence(judgement, {"oracle", verdict, to_string(verdict), {}});
    EXPECT_EQ(judgement.evidence.size(), verdicts.size()) << "nothing is dropped";
    return judgement;
}

TEST(Judgement, TheGravestWordIsTheVerdict)
{
    EXPECT_EQ(judgement_of({}).verdict, Verdict::pass);
    EXPECT_EQ(judgement_of({Verdict::inconsistent, Verdict::guest_crash, Verdict::recovery_failed})
                  .verdict,
              Verdict::guest_crash);
}

TEST(Judgement, AnOracleThatFailedHidesNothing)
{
    EXPECT_EQ(judgement_of({Verdict::infra_error}).verdict, Verdict::infra_error);
    for (const Verdict said : {Verdict::inconsistent, Verdict::recovery_failed, Verdict::guest_hang,
                               Verdict::guest_crash})
        for (const std::vector<Verdict> &order :
             {std::vector{said, Verdict::infra_error}, std::vector{Verdict::infra_error, said}}) {
            const Judgement judgement = judgement_of(order);
            EXPECT_EQ(judgement.verdict, said) << to_string(said);
            EXPECT_EQ(deciding_evidence(judgement).summary, to_string(said));
        }
}

} // namespace
} // namespace fencepost::oracle
