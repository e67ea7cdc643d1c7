// SPDX-License-Identifier: GPL-2.0-or-later
// The images that a test has before it, and the time.
#include "replayer/test/forecast.h"

#include <algorithm>
#include <thread>

#include "pm_images_fixture.h"
#include "replayer/image/image_index.h"
#include "replayer/image/image_walk.h"

namespace fencepost::test {
namespace {

std::uint64_t scattered(std::uint64_t number)
{
    return (number ^ number >> 7) * 0x9e3779b97f4a7c15u * 0xbf58476d1ce4e5b9u;
}

TEST(DistinctCount, ExactWhileSmallAndCloseAbove)
{
    DistinctCount count;
    for (int twice = 0; twice < 2; ++twice)
        for (std::uint64_t i = 0; i < 60'000; ++i)
            count.add(scattered(i) << 20 | scattered(i) >> 44);
    EXPECT_EQ(count.count(), 60'000u);
    for (std::uint64_t i = 0; i < 1'000'000; ++i)
        count.add(scattered(i) << 20 | scattered(i) >> 44);
    EXPECT_NEAR(static_cast<double>(count.count()), 1e6, 2e4);
}

TEST(SecondsLeft, FailuresThatWaitTakeTheirTime)
{
    const TestPace now = {
        .seconds = 10, .tested = 100, .failing = 10, .failing_seconds = 6, .unexplained = 0};
    EXPECT_DOUBLE_EQ(seconds_to_test({}, now, 100).value(), 10);
    TestPace waits = now;
    waits.unexplained = 5; // the other five took 2 s each
    EXPECT_DOUBLE_EQ(seconds_to_test({}, waits, 0).value(), 10);
    EXPECT_DOUBLE_EQ(seconds_to_test({}, waits, 100).value(), 30);
    waits.unexplained = 10; // nobody knows yet what one takes
    EXPECT_GT(seconds_to_test({}, waits, 0).value(), 1);
    EXPECT_FALSE(seconds_to_test(now, now, 100));
    EXPECT_DOUBLE_EQ(seconds_to_minimize(now, 20), 3);
    EXPECT_DOUBLE_EQ(seconds_to_minimize(now, 2), 2);
    EXPECT_DOUBLE_EQ(seconds_to_minimize({}, 20), 0);
}

TEST(SecondsLeft, GoByTheSecondHalf)
{
    PaceHistory paces;
    EXPECT_EQ(paces.half_way({.seconds = 3, .tested = 1}).tested, 1u); // guests are new
    EXPECT_EQ(paces.half_way({.seconds = 4, .tested = 20}).tested, 1u);
    EXPECT_EQ(paces.half_way({.seconds = 7, .tested = 50}).tested, 1u);
    EXPECT_EQ(paces.half_way({.seconds = 8, .tested = 51}).tested, 20u);
    EXPECT_EQ(paces.half_way({.seconds = 15, .tested = 58}).tested, 50u);
}

// Two workers: one tests images, of which every third fails; failures are explained one after the
// other, which takes longer.
TEST(SecondsLeft, WithinAFactorOfTwoWithManyFailures)
{
    constexpr double kTest = 0.1;
    constexpr std::uint64_t kImages = 300;
    for (const double explain : {0.05, 0.2, 1.0}) {
        const double whole = std::max(kImages * kTest, kImages / 3 * explain);
        for (double at = 5; at < 0.8 * whole; at += 1) {
            TestPace now = {.seconds = at};
            now.tested = std::min(kImages, static_cast<std::uint64_t>(at / kTest));
            now.failing = now.tested / 3;
            const std::uint64_t explained =
                std::min(now.failing, static_cast<std::uint64_t>(at / explain));
            now.unexplained = now.failing - explained;
            const double left = seconds_to_test({}, now, kImages - now.tested).value();
            EXPECT_LT(left, 2 * (whole - at)) << explain << " at " << at;
            EXPECT_GT(left, (whole - at) / 2) << explain << " at " << at;
        }
    }
}

class EachOnce : public image::ImageListener {
public:
    bool image(image::ReadyImage &image) override
    {
        index_.add(image.identity(), image.point().seq / 1000, {image.point().seq, image.id()});
        return true;
    }
    std::uint64_t count() const { return index_.images(); }

private:
    image::ImageIndex index_;
};

using Images = image::PmImages;

TEST_P(Images, ForecastIsWhatTheResultsWillCount)
{
    const trace::TraceReader reader(path());
    const image::InitialImage initial(reader);
    const states::WalkOptions walk = {.strategies = states::parse_strategies("none-all,random:3"),
                                      .promise = [](std::uint64_t seq) { return seq / 1000; }};
    EachOnce counted;
    image::ImageWalk(reader, initial, walk, {.labels = false}).run(counted);
    const Forecast forecast(path(), initial, walk);
    while (!forecast.images())
        std::this_thread::yield();
    EXPECT_GT(counted.count(), 100u);
    EXPECT_EQ(*forecast.images(), counted.count());
}

INSTANTIATE_TEST_SUITE_P(Work, Images, testing::Values("tidy", "mixed"),
                         [](const auto &shape) { return std::string(shape.param); });

} // namespace
} // namespace fencepost::test
