// SPDX-License-Identifier: GPL-2.0-or-later
// Which failing images are one finding.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "replayer/test/pool/worker.h"
#include "replayer/test/results.h"

namespace fencepost::test {

// Failing images with the same evidence are one finding if the same site decides all of them: that
// of the store whose absence makes them fail, or that of the store whose presence does. A flag that
// is there too early fails without any part of its record: one finding about the flag.
class Grouping {
public:
    // Known ones first, so that a resumed test goes on with them.
    explicit Grouping(const std::vector<Finding> &known);

    // The finding that has this failure, as far as can be told without tests: the image lacks a
    // store of a site that decides by its absence, and has one in flight of the others. Or tests
    // were in vain too often. Empty: none. From any thread.
    std::string explained_by(const oracle::Evidence &evidence,
                             const Explanation &explanation) const;

    struct Placed {
        Finding finding;
        // This image is the one that shows it: it is new, or was not explained before. Names,
        // operations, state and image are then to be set.
        bool shows = false;
    };
    Placed place(const oracle::Evidence &evidence, const Explanation &explanation);

private:
    struct Alike {
        std::vector<Finding> findings = {};
        unsigned tried_in_vain = 0; // images that could not be explained
    };

    mutable std::mutex mutex_;
    std::map<std::string, Alike> known_; // by oracle, verdict and summary
};

} // namespace fencepost::test
