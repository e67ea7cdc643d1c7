// SPDX-License-Identifier: GPL-2.0-or-later
// What rules and crash states say about the same store.
#pragma once

#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::findings {

// Both of one run. Findings of rules that name a store which decides a finding of crash states, and
// these: each gets the other as related. A rule about performance says nothing about a crash.
void relate(std::vector<Finding> &by_rules, std::vector<Finding> &by_states);

// Related: the finding of a rule is evidence for one of states that is as grave, and no finding
// more.
bool is_part_of_one(const Finding &by_rule, const std::vector<Finding> &by_states);

} // namespace fencepost::findings
