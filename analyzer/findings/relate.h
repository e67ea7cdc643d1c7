// SPDX-License-Identifier: GPL-2.0-or-later
// What rules and crash states say about the same store.
#pragma once

#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/symbols/code_names.h"

namespace fencepost::findings {

// The places of a finding of crash states by name, and the code of all stores that decide it.
void name_places(Finding &finding, const symbols::CodeNames &names);

// Both of one run. Findings of rules that name a store which decides a finding of crash states, and
// these: each gets the other as related, and a rule's finding is part of the first one that is as
// grave. A rule about performance says nothing about a crash.
void relate(std::vector<Finding> &by_rules, std::vector<Finding> &by_states);

} // namespace fencepost::findings
