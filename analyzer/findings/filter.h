// SPDX-License-Identifier: GPL-2.0-or-later
// Which of many findings somebody wants to see.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::findings {

// What is empty leaves out nothing.
struct Filter {
    std::vector<Severity> severities = {};
    std::string function = {}; // that a place of the finding is in, or was called by
    std::string module = {};   // that a place is in: its path, or the path's last part

    bool empty() const { return severities.empty() && function.empty() && module.empty(); }
    bool fits(const Finding &finding) const;
};

// "12 of 340 findings shown, 328 left out by --severity, --module"; empty where nothing is
// filtered.
std::string apply(const Filter &filter, std::vector<Finding> &findings);

} // namespace fencepost::findings
