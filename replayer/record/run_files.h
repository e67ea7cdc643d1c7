// SPDX-License-Identifier: GPL-2.0-or-later
// What a run keeps beside its trace: how to record it again, and what the guest said.
#pragma once

#include <nlohmann/json.hpp>

#include "replayer/record/recorder.h"
#include "replayer/record/run_directory.h"

namespace fencepost::record {

// Before the recording, so that one that is killed can be looked into.
void save_inputs(const RunFiles &files, const RecordInputs &inputs);
// A trace error if they are missing or damaged.
RecordInputs load_inputs(const RunFiles &files);
// Whether both would record the same; how it is judged may differ.
bool record_the_same(const RecordInputs &a, const RecordInputs &b);
// What its spec says for rules; nothing for a trace by itself.
AnalyzeSpec load_analyze(const RunFiles &files);
// What its spec says about incidental fences; likewise.
std::vector<std::string> load_incidental(const RunFiles &files);

// What the spec says about judging, but for the names of oracles; the same text for the same.
std::string judgement_text(const RunFiles &files);

// After it: console, kernel log, outputs, kernel symbols and the summary.
void save_results(const RunFiles &files, const RecordInputs &inputs, const RecordResult &result,
                  const guest::Template &source);

// The summary: record.json, and what `fencepost record --json` prints.
nlohmann::json summary(const RunFiles &files, const RecordResult &result);
// The one that is kept; no object if it is damaged.
nlohmann::json load_summary(const RunFiles &files);

} // namespace fencepost::record
