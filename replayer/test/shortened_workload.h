// SPDX-License-Identifier: GPL-2.0-or-later
// The shortest workload that still shows a finding, found by recording and testing shorter ones.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analyzer/findings/finding.h"
#include "base/deadline.h"
#include "replayer/oracle/own_oracle.h"
#include "replayer/run/inputs.h"
#include "replayer/test/workload_lines.h"

namespace fencepost::test {

struct ShortenOptions {
    std::vector<std::string> oracles = {};
    oracle::OwnOracles own_oracles = {};
    std::string backend = "process";
    std::optional<guest::Accelerator> accelerator = {};
    // During or after which power fails, as it is written in the workload: only there shorter ones
    // are tested. Empty: everywhere.
    std::string operation = {};
    Deadline deadline = Deadline::never();
    std::function<void(const std::string &line)> say = {};
};

struct ShortenedWorkload {
    Shortened workload;
    std::size_t operations_before = 0;
    std::size_t operations = 0;
    unsigned recordings = 0;
    double seconds = 0;
    bool interrupted = false;
};

// Whether a workload of another run shows the same: the same verdict in words that both have, and
// stores of functions (or kinds of operations) that both have decide it.
bool is_same_cause(const findings::Finding &a, const findings::Finding &b);

// `finding`: with the names of its code. Runs are
// made in the cache's scratch directory, one after the other, and removed.
ShortenedWorkload shorten_workload(const WorkloadLines &workload, const findings::Finding &finding,
                                   const std::filesystem::path &cache,
                                   const ShortenOptions &options);

} // namespace fencepost::test
