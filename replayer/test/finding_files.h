// SPDX-License-Identifier: GPL-2.0-or-later
// RUN/findings/ID: what there is to know about one finding, for people and other programs.
#pragma once

#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/results.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::test {

// summary.json, console.log, reproduce.sh (where a plain boot can show it), tree.json (what was
// recovered, where it was looked at) and image.delta, of the image that shows the finding.
// `incidental`: those of the walk that came by it.
void write_finding(const run::RunFiles &run, const trace::TraceReader &reader,
                   const Finding &finding, const oracle::Judgement &judgement,
                   const trace::IncidentalFences &incidental);

// What is known of each by now. Findings that are not known are removed, as far as
// fencepost wrote them: their verdicts were lost with a killed process.
void update_findings(const run::RunFiles &run, const std::vector<Finding> &known);

// summary.json in the folder of a finding.
void write_summary(const Folder &folder, const Finding &finding);

} // namespace fencepost::test
