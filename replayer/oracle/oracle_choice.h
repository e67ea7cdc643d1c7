// SPDX-License-Identifier: GPL-2.0-or-later
// Which oracles judge a run's images.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "replayer/oracle/oracle.h"

namespace fencepost::oracle {

struct JudgeSettings;

// Usage errors for oracles that do not exist or do not suit the run. `file_system`: empty if it has
// none.
void check_oracles(const std::vector<std::string> &names, const std::string &file_system,
                   bool has_recovery);

// In the order in which they speak. check_oracles() first. May take a while: what they need to know
// about the workload is observed.
std::vector<std::unique_ptr<Oracle>> choose_oracles(const JudgeSettings &settings);

} // namespace fencepost::oracle
