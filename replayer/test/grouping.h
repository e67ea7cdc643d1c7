// SPDX-License-Identifier: GPL-2.0-or-later
// Which failing images are one finding.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/states/missing.h"
#include "replayer/test/results.h"

namespace fencepost::test {

// What may have made a state fail, as far as it can be told without more tests.
struct Suspects {
    std::vector<states::MissingStore> missing = {}; // as missing_stores() gives them
    trace::SiteId last_store = 0;                   // the latest before the crash
    trace::StackId last_stack = 0;
    std::uint64_t last_seq = 0;
};

// Failing images with the same summary are put together as long as one site explains them: the states
// of a finding all lack a store of its sites, which get fewer with every state that joins. A state that
// lacks none of them makes a new finding. Where nothing is missing, the last store that is there decides.
class Grouping {
public:
    // Known ones first, so that a resumed test goes on with them.
    explicit Grouping(const std::vector<Finding> &known);

    // The finding, with all but names, state and image where it is new.
    Finding place(const oracle::Evidence &evidence, const Suspects &suspects);

private:
    std::map<std::string, std::vector<Finding>> known_; // by oracle, verdict and summary
};

// The evidence that gives the image its verdict.
const oracle::Evidence &deciding_evidence(const oracle::Judgement &judgement);

} // namespace fencepost::test
