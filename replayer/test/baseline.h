// SPDX-License-Identifier: GPL-2.0-or-later
// What the oracles say about images without a crash, before any crash image: the initial one, and
// the one that the workload leaves when it has ended and everything is unmounted. Where operations
// before a mark prepare the test, the initial one is what they leave; where a program prepares it
// itself, there is only the final one.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "replayer/run/run_directory.h"
#include "replayer/test/pool/worker.h"

namespace fencepost::test {

inline constexpr const char *kInitialImage = "initial";
inline constexpr const char *kFinalImage = "final";

struct Objection {
    std::string image; // kInitialImage or kFinalImage
    oracle::Evidence evidence = {};

    // The same is left out in crash images.
    bool masked() const;
    // Its oracle is left out of the test.
    bool ends_trust() const;
};

// What that oracle's objection means for the test, in a sentence.
std::string why_left_out(const std::string &oracle);

struct Baseline {
    std::vector<std::string> images = {}; // that were judged
    std::string missing = {};             // why there is no final one; empty: there is
    std::vector<Objection> objections = {};
    std::vector<agent::SpaceUse> used = {}; // when they were emptied, those that could be

    // Something is wrong without a crash that cannot be masked.
    bool fails() const;
    // The oracles that are left out, because they object to what they should know as right.
    std::set<std::string> left_out() const;
    // Not even the initial image can be recovered from: crash images would say nothing.
    bool stops() const;
    std::vector<oracle::Evidence> evidence() const;
};

// Runs the workload once more, without the tracer, for the final image. `say`: progress.
Baseline judge_baseline(const WorkerPlan &plan, const run::RunFiles &run,
                        const std::filesystem::path &cache,
                        const std::function<void(const std::string &line)> &say);

} // namespace fencepost::test
