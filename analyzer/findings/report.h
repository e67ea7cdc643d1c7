// SPDX-License-Identifier: GPL-2.0-or-later
// Findings and what is to be said besides them: what analyzer/report renders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::findings {

// How the rules read a trace.
struct RuleSummary {
    std::uint64_t events = 0;
    std::string model;
    std::string fences;
    std::string persistency;
    std::vector<std::string> rules;      // that ran
    std::vector<std::string> statements; // about the trace, one sentence each
    std::uint64_t suppressed = 0;        // findings
    std::uint64_t known_code = 0;        // findings in code of others that are right as they are
    bool complete = true; // false: the recording did not end, so nothing is said about its end
};

struct RuleDescription {
    std::string name;
    std::string sentence;
    std::string certainty;
    Severity severity = Severity::bug;
};

struct Report {
    RuleSummary summary;
    std::vector<RuleDescription> catalog = {}; // all rules that there are
    std::vector<Finding> findings = {};        // by severity, then by first event
};

} // namespace fencepost::findings
