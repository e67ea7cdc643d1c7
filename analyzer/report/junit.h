// SPDX-License-Identifier: GPL-2.0-or-later
// A run's report as JUnit XML, for whatever collects tests.
#pragma once

#include <span>
#include <string>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

// A suite for each rule and oracle; a finding of one of the severities that is not in the baseline
// nor part of another is a failure, any other one a test that passed and says what it is. Suite
// "run" has a test for each condition of a pass; one that does not hold is an error.
std::string to_junit(const RunReport &report, std::span<const findings::Severity> failures);

} // namespace fencepost::report
