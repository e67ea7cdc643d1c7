// SPDX-License-Identifier: GPL-2.0-or-later
// Minimizes findings of a tested run as its user asks for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "replayer/guest/guest_config.h"
#include "replayer/oracle/own_oracle.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/shortened_workload.h"

namespace fencepost::test {

struct MinimizeRequest {
    std::string finding = {};                          // its id; empty: all
    std::uint64_t tests = UINT64_MAX;                  // in guests, for each finding
    std::optional<std::chrono::seconds> duration = {}; // for all together
    std::vector<std::string> incidental = {};          // empty: what the spec says
    oracle::OwnOracles own_oracles = {};               // those of the test that the caller has
    std::string backend = "process";
    std::optional<guest::Accelerator> accelerator = {}; // nothing: KVM where it works
    bool force = false;                                 // also those that were minimized before
    bool workload = false;                              // shortens the workload too: records again
};

struct MinimizeListener {
    std::function<void(const std::string &line)> say = {}; // what takes a while
    // minimal.json of a finding; `made`: now.
    std::function<void(const nlohmann::json &minimal, bool made)> show = {};
    // Nothing: it is no list of operations.
    std::function<void(const std::string &finding, const std::optional<ShortenedWorkload> &)>
        shortened = {};
};

// Locks the run. Errors(usage): a run that was not tested, a finding that is not there (the nearest
// one is named), results of other oracles, kernels or promises than the run has now. An interrupt
// comes through when what was found until then is kept.
void minimize_recorded(const run::RunFiles &files, const std::filesystem::path &cache,
                       const MinimizeRequest &request, const MinimizeListener &listener);

} // namespace fencepost::test
