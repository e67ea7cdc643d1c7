// SPDX-License-Identifier: GPL-2.0-or-later
// What testing, reproducing and minimizing say, as JSON: the documents of the command.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "replayer/test/reproduction.h"
#include "replayer/test/shortened_workload.h"
#include "replayer/test/test_run.h"

namespace fencepost::test {

nlohmann::json report_json(const TestReport &report);

// "fails again, 3 of 3"
std::string outcome_words(const Reproduction &result, const NamedState &named);
nlohmann::json reproduction_json(const Reproduction &result, const NamedState &named);

nlohmann::json shortened_json(const std::string &finding, const ShortenedWorkload &found);

} // namespace fencepost::test
