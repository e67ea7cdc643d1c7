// SPDX-License-Identifier: GPL-2.0-or-later
// What oracles object to in images without a crash, and therefore not in crash images.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/oracle/log_watch.h"

namespace fencepost::oracle {

// Whether the same is left out in crash images. Not what ends a test (a mount that fails, a crash,
// a hang), nor what the user's own recovery command says, nor what says nothing.
bool is_maskable(const Evidence &objection);

// One problem of `usable`, whatever name it was met with.
Evidence evidence_of(const agent::UsableProblem &problem);

class Masks {
public:
    Masks() = default;
    explicit Masks(const std::vector<Evidence> &objections);

    const MaskedLines &lines() const { return lines_; }
    bool covers(const agent::UsableProblem &problem) const;
    // Of the oracles that say one thing about an image: programs of the host, comparisons of trees.
    bool covers(const Evidence &evidence) const;

private:
    MaskedLines lines_;
    std::set<std::pair<std::string, std::string>> said_; // oracle, summary
};

} // namespace fencepost::oracle
