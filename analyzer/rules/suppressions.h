// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that a user does not want to see: by rule, function, module or caller.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/rule_finding.h"
#include "analyzer/rules/text_lines.h"

namespace fencepost::rules {

// `RULE [function=GLOB] [module=GLOB] [caller=GLOB] [id=ID]`; RULE may be `*`. All that is given must match.
struct Suppression {
    TextLine line;
    std::string rule;
    std::string function;
    std::string module;
    std::string caller;
    std::string id;
    std::uint64_t used = 0;
};

// A rule that does not exist, or a line that would silence everything, is an Error(usage) with its line.
std::vector<Suppression> parse_suppressions(const std::vector<TextLine> &lines);

// Takes out what is suppressed, and says which suppressions matched nothing.
void apply(std::vector<Suppression> &suppressions, findings::RuleReport &report);

} // namespace fencepost::rules
