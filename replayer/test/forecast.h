// SPDX-License-Identifier: GPL-2.0-or-later
// How long a test is going to take: the images that it will have are counted beside it, by a walk
// that makes none.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "replayer/image/initial_image.h"
#include "replayer/image/line_hash.h"
#include "replayer/states/state_walk.h"

namespace fencepost::test {

// How many different numbers were added, nearly: above a limit it keeps a half of them, a quarter
// and so on.
class DistinctCount {
public:
    static constexpr std::size_t kMostKept = 1 << 16;

    // Evenly distributed numbers.
    void add(std::uint64_t number);
    std::uint64_t count() const { return kept_.size() * (mask_ + 1); }

private:
    std::uint64_t mask_ = 0; // of the bits that are 0 in all that are kept
    std::unordered_set<std::uint64_t> kept_;
};

// What a test has done so far.
struct TestPace {
    double seconds = 0;            // since it began
    std::uint64_t tested = 0;      // images
    std::uint64_t failing = 0;     // among them
    double failing_seconds = 0;    // of all workers, for these
    std::uint64_t unexplained = 0; // failing images of which is not yet known what decides
};

// Until so many more images are tested and all failures explained, as fast as from `start` to
// `now`: other workers go on testing while failures are explained one after the other. Nothing:
// nothing was done meanwhile.
std::optional<double> seconds_to_test(const TestPace &start, const TestPace &now,
                                      std::uint64_t images);

// What a test had done from time to time.
class PaceHistory {
public:
    // As it was in the middle of the time, and not before the first time: new guests are slow, and
    // images that fail are, which come in crowds. Keeps `now`.
    TestPace half_way(const TestPace &now);

private:
    std::vector<TestPace> paces_;
};

// To minimize a finding. `most`: the time it is given.
double seconds_to_minimize(const TestPace &now, double most);

class Forecast {
public:
    // Counts in a thread of its own, with the least priority. `initial` is borrowed, and what
    // `walk.promise` asks may be asked by two threads at once.
    Forecast(const std::filesystem::path &trace, const image::InitialImage &initial,
             states::WalkOptions walk);
    ~Forecast();

    // Different images, as the results count them; nothing: not yet counted, or nobody knows.
    std::optional<std::uint64_t> images() const;

private:
    static constexpr std::uint64_t kUnknown = UINT64_MAX;

    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> images_ = kUnknown;
    std::thread thread_;
};

} // namespace fencepost::test
