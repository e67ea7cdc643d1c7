// SPDX-License-Identifier: GPL-2.0-or-later
// What rules and crash states say about the same store.
#pragma once

#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::findings {

// Both of one run. Findings of rules that name a store which decides a finding of crash states, and
// these: each gets the other as related. A rule about performance says nothing about a crash.
void relate(std::vector<Finding> &by_rules, std::vector<Finding> &by_states);

} // namespace fencepost::findings
