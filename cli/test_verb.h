// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost test` for other verbs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/walk_arguments.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/exploration.h"
#include "replayer/test/test_request.h"

namespace fencepost::cli {

struct TestArguments {
    WalkArguments walk = {.strategy = test::kDefaultStrategy};
    bool strategy_given = false;
    std::vector<std::string> oracles = {};
    unsigned jobs = 0; // 0: one for each CPU
    std::uint64_t limit = UINT64_MAX;
    std::uint64_t bugs = UINT64_MAX;
    std::string duration = {};
    std::string backend = "process";
    std::string accelerator = "auto";
    double confirm = 2; // percent
    bool restart = false;
    bool fresh = false;
};

void add_test_arguments(App &verb, TestArguments &arguments);
// "auto": nothing. Error(usage) for what there is not.
std::optional<guest::Accelerator> parse_accelerator(const std::string &text);
// Errors(usage) for whatever needs no run to be wrong.
test::TestRequest test_request(const TestArguments &arguments);

test::TestReport run_test(const Context &context, const run::RunFiles &files,
                          const test::TestRequest &request);
void print_report(const test::TestReport &report, const run::RunFiles &files);
nlohmann::json report_json(const test::TestReport &report);
// 1: bugs; 4: none, but not everything could be judged; 5: nothing was tested.
int exit_code_of(const test::TestReport &report);

} // namespace fencepost::cli
