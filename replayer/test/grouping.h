// SPDX-License-Identifier: GPL-2.0-or-later
// Which failing images are one finding.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/test/pool/deciding_stores.h"
#include "replayer/test/results.h"

namespace fencepost::test {

// Why an image fails, as far as it is known.
struct Explanation {
    // The first store of each site that was in flight, and is missing in the image or there.
    std::vector<trace::EventRef> missing = {};
    std::vector<trace::EventRef> present = {};
    // What tests of states like it say; nothing: there were none, or they do not say.
    std::optional<DecidingStores> decided = {};
    std::string like = {};       // what Grouping::explained_by() said
    bool probing_failed = false; // there were tests, and they do not say
};

// Failing images with the same evidence are one finding if the same site decides all of them: that
// of the store whose absence makes them fail, or that of the store whose presence does. A flag that
// is there too early fails without any part of its record: one finding about the flag.
class Grouping {
public:
    // Known ones first, so that a resumed test goes on with them.
    explicit Grouping(const std::vector<Finding> &known);

    // The finding that has this failure, as far as can be told without tests: the image lacks a
    // store of a site that decides by its absence, and has one in flight of the others. Or probing
    // failed too often. Empty: none.
    std::string explained_by(const oracle::Evidence &evidence,
                             const Explanation &explanation) const;

    struct Placed {
        Finding finding;
        // This image is the one that shows it: it is new, or was not explained before. Its places
        // are then the events of the stores that decide; all about the image is to be set.
        bool shows = false;
    };
    Placed place(const oracle::Evidence &evidence, const Explanation &explanation);

    // The same for failures with the same evidence.
    static std::string key_of(const oracle::Evidence &evidence);

private:
    static std::string key_of(const Finding &finding);

    struct Alike {
        std::vector<Finding> findings = {};
        unsigned failed_probes = 0; // images of which probing failed
    };

    std::map<std::string, Alike> known_; // by oracle, verdict and summary
};

} // namespace fencepost::test
