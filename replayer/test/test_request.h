// SPDX-License-Identifier: GPL-2.0-or-later
// Tests a recorded run as its user asks for it: chooses judge, guest and states, and goes on where
// an earlier test was.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/guest/guest_config.h"
#include "replayer/oracle/own_oracle.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"
#include "replayer/states/strategy.h"
#include "replayer/states/window.h"
#include "replayer/test/test_run.h"

namespace fencepost::test {

struct TestRequest {
    // Strategies, window and incidental fences of it are set from the fields below.
    states::WalkOptions walk = {};
    std::optional<std::vector<states::Strategy>> strategies = {}; // nothing: what suits the judge
    std::string window = {};                  // as parse_window() has it; empty: everything
    std::vector<std::string> incidental = {}; // empty: what the spec says
    std::vector<std::string> oracles = {};    // likewise
    oracle::OwnOracles own_oracles = {};      // for the names among them that are no others'
    unsigned jobs = 0;                        // 0: one for each CPU
    std::uint64_t limit = UINT64_MAX;
    std::uint64_t bugs = UINT64_MAX;
    std::set<std::string> known = {}; // ids of findings that do not count for `bugs`
    std::optional<std::chrono::seconds> duration = {};
    std::string backend = "process";
    std::optional<guest::Accelerator> accelerator = {}; // nothing: KVM where it works
    std::chrono::seconds minimize{0};                   // for each finding that is a bug
    double confirm = 0.02;
    bool restart = false;
    bool fresh = false;
};

// Errors(usage) for what is wrong whatever the run is: nothing to test, a window or a backend that
// there is not.
void check_request(const TestRequest &request);
// Whether those that judge suit what the spec records, likewise.
void check_oracles(const TestRequest &request, const run::Spec &spec);

struct TestListener {
    std::function<void(const std::string &line)> say = {}; // what takes a while
    std::function<void(const TestProgress &)> progress = {};
};

// check_request() first. Locks the run. A recording that is not complete is an Error(trace);
// oracles that do not suit the run, or are others than those of its verdicts, are an Error(usage)
// before any guest starts. Otherwise as test_run().
TestReport test_recorded(const run::RunFiles &files, const std::filesystem::path &cache,
                         const TestRequest &request, const TestListener &listener);

} // namespace fencepost::test
