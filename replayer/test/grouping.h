// SPDX-License-Identifier: GPL-2.0-or-later
// Which failing images are one finding.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/test/explanation.h"
#include "replayer/test/results.h"

namespace fencepost::test {

// Failing images are one finding if the same code decides all of them, whatever the words for what
// it breaks: the code whose store is lost, or the code whose store persists. Code is compared by
// name: processes and builds have addresses of their own.
//
// With the same words the common side is enough: a flag that persists too early fails without any
// part of its record. With other words it must be the lost store's code, or both sides', or a
// persisted store that works for the same caller: a journal's commit decides for everybody who
// forgets something. Where a flag that persists decides alone, what is in flight behind it in the
// same function is of that finding too. Crashes and hangs of the recovering guest are findings
// apart from damage.
class Grouping {
public:
    // Known ones first, so that a resumed test goes on with them.
    explicit Grouping(const std::vector<Finding> &known);

    // The finding that has this failure, as far as can be told without tests: the same words, and
    // the image lacks a store of a site that decides by its absence, and has one in flight of the
    // others. Or probing failed too often. Empty: none.
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
    struct Known {
        Finding finding;
        std::set<std::string> keys = {}; // of all its evidence
    };

    Known *find(const oracle::Evidence &evidence, const Explanation &explanation);
    std::string new_id(const oracle::Evidence &evidence, const Explanation &explanation) const;
    bool has_id(const std::string &id) const;

    std::vector<Known> known_;
    std::map<std::string, unsigned> failed_probes_; // by key: images of which probing failed
};

} // namespace fencepost::test
