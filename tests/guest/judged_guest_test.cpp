// SPDX-License-Identifier: GPL-2.0-or-later
// What happens to guests while they are asked, and what they carry from one image to the next: a
// file system that oopses, hangs, is slow, leaks, complains once or always.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/guest/moody_guest.h"

namespace fencepost::test {

using namespace guest;
namespace {

using oracle::Evidence;
using oracle::Verdict;

std::string verdict(const Outcome &outcome)
{
    std::string text = to_string(outcome.judgement.verdict);
    for (const Evidence &each : outcome.judgement.evidence)
        text += "; " + each.summary;
    return text;
}

// The mount waits for ever; that nobody waits for it is what ends this test in time.
TEST(JudgedGuest, AnOopsInAThreadEndsTheTestAtOnce)
{
    MoodyWorker worker(3000);
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    const Outcome outcome = worker.test('x');
    EXPECT_EQ(verdict(outcome), "guest_crash; BUG: kernel NULL pointer dereference, address: # in "
                                "moodfs_oops");
    EXPECT_TRUE(outcome.confirmed);
    EXPECT_FALSE(outcome.disagreed);
    const nlohmann::json &details = outcome.judgement.evidence.at(0).details.json();
    EXPECT_EQ(details["function"], "moodfs_oops");
    ASSERT_FALSE(details["stack"].empty()) << outcome.judgement.kernel_log;
    EXPECT_EQ(details["stack"][0].get<std::string>().substr(0, 8), "kthread+");
    EXPECT_NE(outcome.judgement.kernel_log.find("Oops: "), std::string::npos);
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    RecordProperty("oops_seconds", std::to_string(outcome.judge_seconds + outcome.restore_seconds));
}

TEST(JudgedGuest, AHangIsWaitedForOnceAndOthersLikeItAreCheap)
{
    constexpr std::uint32_t kLimit = 8;
    MoodyWorker worker(kLimit);
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    const Outcome first = worker.test('h');
    const std::string words = "guest_hang; mount did not end in its time; last kernel message: "
                              "moodfs: waiting for #";
    EXPECT_EQ(verdict(first), words);
    EXPECT_TRUE(first.confirmed);
    EXPECT_GE(first.judge_seconds, kLimit) << "confirmed with the whole limit";
    for (int i = 0; i < 3; ++i) {
        const Outcome more = worker.test('h');
        EXPECT_EQ(verdict(more), words);
        EXPECT_TRUE(more.known_hang);
        EXPECT_EQ(more.lost_guests, 1u) << "asked again";
    }
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
}

TEST(JudgedGuest, WhatIsOnlySlowIsNoHang)
{
    MoodyWorker worker(60);
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    const auto patience = worker.hangs().patience(HangWatch::GuestKind::restored);
    ASSERT_TRUE(patience);
    const Outcome slow = worker.test('s');
    EXPECT_EQ(verdict(slow), "pass");
    EXPECT_FALSE(slow.disagreed);
    EXPECT_GT(*worker.hangs().patience(HangWatch::GuestKind::restored), *patience);
    EXPECT_EQ(worker.test('s').lost_guests, 0u) << "now it is known what healthy images take";
}

TEST(JudgedGuest, ASlowCommandIsNotTheHangOfAnotherImage)
{
    MoodyWorker worker(12, {"sh", "-c",
                            "case $(head -c 1 /dev/pmem0) in k) echo stuck at 5; sleep 1000 ;; "
                            "l) sleep 6; echo stuck at 7; exit 1 ;; esac"});
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    const Outcome hang = worker.test('k');
    EXPECT_EQ(verdict(hang),
              "guest_hang; the recovery command did not end in its time: stuck at #");
    EXPECT_EQ(verdict(worker.test('l')),
              "inconsistent; the recovery command ended with status 1: stuck at #");
}

TEST(JudgedGuest, NothingLeaksThroughTheGuest)
{
    MoodyWorker worker(60);
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    const char *const fails =
        "recovery_failed; mount /dev/pmem0 on /mnt/pm as moodfs: Structure needs cleaning";
    EXPECT_EQ(verdict(worker.test('f')), fails);
    EXPECT_EQ(verdict(worker.test('v')), fails) << "the failed mount before it hid the failure";
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(verdict(worker.test('o')), "inconsistent; moodfs: this is wrong");
        EXPECT_EQ(verdict(worker.test('w')).substr(0, 23), "inconsistent; WARNING: ");
    }
    const std::uint64_t discarded = worker.counts().discarded_guests;
    EXPECT_EQ(discarded, 6u);
    EXPECT_EQ(verdict(worker.test('r')), "pass");
    EXPECT_EQ(worker.counts().discarded_guests, discarded + 1) << "its log is not whole";
    EXPECT_EQ(verdict(worker.test(' ')), "pass");
    EXPECT_EQ(worker.counts().discarded_guests, discarded + 1);
}

TEST(JudgedGuest, WhatHealthyImagesGetToIsMasked)
{
    MoodyWorker worker(60);
    const Outcome healthy = worker.test('c', false);
    EXPECT_EQ(verdict(healthy), "inconsistent; moodfs: mount # is fine");
    worker.judge().mask(healthy.judgement.evidence);
    const std::uint64_t discarded = worker.counts().discarded_guests;
    const Outcome masked = worker.test('c');
    EXPECT_EQ(verdict(masked), "pass");
    EXPECT_EQ(masked.judgement.masked, 1u);
    EXPECT_EQ(worker.counts().discarded_guests, discarded) << "chatty, not broken";
    EXPECT_EQ(verdict(worker.test('o')), "inconsistent; moodfs: this is wrong");
}

} // namespace
} // namespace fencepost::test
