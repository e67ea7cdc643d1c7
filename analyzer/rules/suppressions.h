// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that a user does not want to see: by rule, function, module or caller.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/rules/text_lines.h"

namespace fencepost::rules {

// `RULE [function=GLOB] [module=GLOB] [caller=GLOB] [within=GLOB] [id=ID]`; RULE may be `*`. All
// that is given must match; `within` is the function or one of its callers.
struct Suppression {
    TextLine line;
    std::string rule;
    std::string function;
    std::string module;
    std::string caller;
    std::string within;
    std::string id;
    std::uint64_t used = 0;
};

// A rule that does not exist, or a line that would silence everything, is an Error(usage) with its
// line.
std::vector<Suppression> parse_suppressions(const std::vector<TextLine> &lines);

// What comes with fencepost: findings in code of others that are right as they are.
std::vector<Suppression> known_code();

// Takes out what is known code.
void apply_known_code(findings::Report &report);
// Takes out what is suppressed, and says which suppressions matched nothing.
void apply(std::vector<Suppression> &suppressions, findings::Report &report);

} // namespace fencepost::rules
