// SPDX-License-Identifier: GPL-2.0-or-later
// The count of images that a test has before it.
#include "replayer/test/forecast.h"

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
