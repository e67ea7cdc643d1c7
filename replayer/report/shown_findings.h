// SPDX-License-Identifier: GPL-2.0-or-later
// A run's findings, of rules and of crash states, with all that belongs to one.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/report/run_report.h"
#include "analyzer/symbols/code_names.h"
#include "replayer/annotate/place_notes.h"
#include "replayer/oracle/progress.h"
#include "replayer/report/results_view.h"
#include "replayer/report/timelines.h"
#include "replayer/run/run_directory.h"
#include "trace/reader.h"

namespace fencepost::collect {

// What a run is known by, opened once for everything that reads it.
class OpenedRun {
public:
    // `shown`: as the user named it. A trace that cannot be read is an Error.
    OpenedRun(run::RunFiles files, std::string shown);

    const run::RunFiles &files() const { return files_; }
    const std::string &shown() const { return shown_; }
    const trace::TraceReader &reader() const { return reader_; }
    const symbols::CodeNames &names() const { return names_; }
    const std::vector<std::string> &incidental() const { return incidental_; }

private:
    run::RunFiles files_;
    std::string shown_;
    trace::TraceReader reader_;
    symbols::CodeNames names_;
    std::vector<std::string> incidental_;
};

// Those of rules and of crash states, related to each other: bugs first, and of these what crash
// states show.
std::vector<findings::Finding> all_findings(std::vector<findings::Finding> by_rules,
                                            std::vector<findings::Finding> by_states);

// What belongs to findings beyond what they say themselves.
class FindingShower {
public:
    explicit FindingShower(const OpenedRun &run);

    // Without its timeline, which costs passes over the trace.
    report::ShownFinding show(const findings::Finding &finding) const;
    // What is wrong with a state's id, or with what was recorded, is told in `no_timeline`. Its
    // places are annotated; of a finding with a folder that is kept there.
    void add_timeline(report::ShownFinding &shown);

private:
    std::string operation_at(std::uint64_t crash_seq) const;
    void add_files(report::ShownFinding &shown) const;
    void annotate(report::ShownFinding &shown);

    const OpenedRun &run_;
    Timelines timelines_;
    annotate::PlaceNoter noter_;
    oracle::ProgressTable progress_;
};

} // namespace fencepost::collect
