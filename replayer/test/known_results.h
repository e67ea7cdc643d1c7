// SPDX-License-Identifier: GPL-2.0-or-later
// What tests have said about a run so far, to be read by other verbs, also beside a test at work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/baseline.h"
#include "trace/database.h"

namespace fencepost::test {

class KnownResults {
public:
    // Error(usage) for a run that was not tested, or whose results are about another recording.
    KnownResults(const run::RunFiles &files, const std::string &event_digest);

    // In the order of their first images. Places have their events, and no names of code.
    std::vector<findings::Finding> findings();
    // As findings::find() has it.
    findings::Finding finding(const std::string &id);
    // That gave the verdicts; empty: those of the spec.
    std::vector<std::string> oracles();
    // The same, joined by commas.
    std::string oracle_list();
    // Nothing: not judged yet.
    std::optional<Baseline> baseline();

private:
    trace::Database database_;
};

bool has_results(const run::RunFiles &files);

// The table `baseline`.
std::optional<Baseline> kept_baseline(trace::Database &database);

} // namespace fencepost::test
