// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost test` for other verbs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/baseline.h"
#include "cli/walk_arguments.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/exploration.h"
#include "replayer/test/test_request.h"

namespace fencepost::cli {

struct TestArguments {
    WalkArguments walk = {.names = {.strategy = test::kDefaultStrategy}};
    bool strategy_given = false;
    std::vector<std::string> oracles = {};
    unsigned jobs = 0; // 0: one for each CPU
    std::uint64_t limit = UINT64_MAX;
    std::uint64_t bugs = UINT64_MAX;
    std::string duration = {};
    std::string backend = "process";
    std::string accelerator = "auto";
    std::string minimize = "20s";
    double confirm = 2; // percent
    bool restart = false;
    bool fresh = false;
    std::string baseline = {};
    std::string write_baseline = {};
};

void add_test_arguments(App &verb, TestArguments &arguments);
// "90", "90s", "10m", "2h"; Error(usage) for anything else.
std::chrono::seconds parse_duration(const std::string &text);
// Errors(usage) for whatever needs no run to be wrong.
test::TestRequest test_request(const TestArguments &arguments);

// Also those of rules, where rules were applied.
class TestBaseline {
public:
    // What is wrong with the files is an Error(usage).
    TestBaseline(const TestArguments &arguments, bool force);

    void mark(std::vector<findings::Finding> &findings) { known_.mark(findings); }
    // Sentences about findings of crash states that are gone.
    std::vector<std::string> gone() const { return known_.gone(false); }
    std::set<std::string> ids() const { return known_.ids(); }
    void write(std::initializer_list<std::span<const findings::Finding>> findings) const;

private:
    findings::KnownFindings known_;
    std::string write_;
    Overwrite overwrite_;
};

test::TestReport run_test(const Context &context, const run::RunFiles &files,
                          const test::TestRequest &request);
void print_report(const test::TestReport &report, const run::RunFiles &files);
// 1: bugs; 4: none, but not everything could be judged; 5: nothing was tested.
int exit_code_of(const test::TestReport &report);

} // namespace fencepost::cli
