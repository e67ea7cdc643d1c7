// SPDX-License-Identifier: GPL-2.0-or-later
// Minimizes findings of a run, one after the other, in one warm guest.
#pragma once

#include "analyzer/symbols/code_names.h"
#include "replayer/annotate/place_notes.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/earliest_failure.h"
#include "replayer/test/minimal_finding.h"
#include "replayer/test/operations.h"

namespace fencepost::test {

class Minimizer {
public:
    // All are borrowed. The judge of `plan` masks what healthy images get too. `incidental`: those
    // of the states.
    Minimizer(const run::RunFiles &run, const trace::TraceReader &reader,
              const trace::IncidentalFences &incidental, const WorkerPlan &plan);

    // Writes minimal.json, pass.delta and fail.delta of the finding, also of a search that was
    // interrupted, if it has found anything. A finding of the workload has no state: nothing.
    std::optional<MinimalFinding> minimize(const findings::Finding &finding,
                                           const StateAsker::Limits &limits);

private:
    void search(image::OpenPoint &point, MinimalFinding &minimal, NeededStores &needed);
    void find_earliest(const findings::Finding &finding, const NeededStores &needed,
                       MinimalFinding &minimal);
    void search_earliest(MinimalFinding &minimal);
    void annotate(MinimalFinding &minimal);
    void write(const MinimalFinding &minimal) const;

    const run::RunFiles &run_;
    const TracePoints points_;
    KnownVerdicts known_;
    StateAsker asker_;
    const symbols::CodeNames names_;
    const Operations operations_;
    annotate::PlaceNoter noter_;
};

} // namespace fencepost::test
