// SPDX-License-Identifier: GPL-2.0-or-later
// What an oracle's evidence says, for people: its details are JSON of many shapes.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::report {

struct LegalTree {
    std::string as; // "before: rename a b"
    std::vector<std::string> differences;
};

struct EvidenceWords {
    std::string promise; // that was broken; empty: the evidence is about none
    std::string promise_source;
    std::string in_progress;             // operations
    std::string returned;                // the last operation that had
    std::vector<LegalTree> against = {}; // every tree that would have been legal
    std::vector<std::string> said = {};  // by fsck, the kernel, a command: line by line
};

EvidenceWords words_of(const findings::Evidence &evidence);

// minimal.json of a finding in a few lines; none where it says nothing about the finding as it is.
std::vector<std::string> minimal_lines(const findings::Finding &finding,
                                       const std::string &document);

} // namespace fencepost::report
