// SPDX-License-Identifier: GPL-2.0-or-later
// How long healthy images take decides when another is called a hang.
#include "replayer/test/pool/hang_watch.h"

#include <gtest/gtest.h>

namespace fencepost::test {
namespace {

using Kind = HangWatch::GuestKind;
using std::chrono::milliseconds;

TEST(HangWatch, IsPatientByWhatHealthyImagesTook)
{
    HangWatch watch;
    EXPECT_FALSE(watch.patience(Kind::warm)) << "nobody knows";
    watch.note_healthy(Kind::restored, milliseconds(700));
    EXPECT_EQ(watch.patience(Kind::restored), milliseconds(2100));
    EXPECT_EQ(watch.patience(Kind::warm), milliseconds(2100)) << "no slower than a restored one";
    watch.note_healthy(Kind::warm, milliseconds(20));
    EXPECT_EQ(watch.patience(Kind::warm), HangWatch::kFloor);
    watch.note_healthy(Kind::warm, milliseconds(900));
    watch.note_healthy(Kind::warm, milliseconds(30));
    EXPECT_EQ(watch.patience(Kind::warm), milliseconds(2700)) << "the slowest counts";
}

TEST(HangWatch, KnowsHangsByTheirWords)
{
    HangWatch watch;
    EXPECT_FALSE(watch.known("mount did not end"));
    watch.note_confirmed("mount did not end",
                         {"mount", oracle::Verdict::guest_crash, "BUG: soft lockup", {}});
    ASSERT_TRUE(watch.known("mount did not end"));
    EXPECT_EQ(watch.known("mount did not end")->summary, "BUG: soft lockup");
    EXPECT_FALSE(watch.known("unmount did not end"));
}

} // namespace
} // namespace fencepost::test
