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
    // Error(usage) if there is none of that id: it names the one that comes closest.
    findings::Finding finding(const std::string &id);
    // That gave the verdicts; empty: those of the spec.
    std::vector<std::string> oracles();
    // Nothing: not judged yet.
    std::optional<Baseline> baseline();

private:
    trace::Database database_;
    std::filesystem::path run_;
};

bool has_results(const run::RunFiles &files);

// Of the candidates, the one that needs the fewest changes to become the word; empty: there are
// none.
std::string nearest(const std::string &word, const std::vector<std::string> &candidates);

// The table `baseline`.
std::optional<Baseline> kept_baseline(trace::Database &database);

} // namespace fencepost::test
