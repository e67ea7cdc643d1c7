// SPDX-License-Identifier: GPL-2.0-or-later
// What a recording leaves beside its trace: what the guest said, names of its kernel, a summary.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "replayer/record/recorder.h"
#include "replayer/run/run_directory.h"

namespace fencepost::record {

// Console, kernel log, outputs, kernel symbols and the summary.
void save_results(const run::RunFiles &files, const run::Inputs &inputs, const RecordResult &result,
                  const guest::Template &source);

// The summary: record.json, and what `fencepost record --json` prints.
nlohmann::json summary(const run::RunFiles &files, const RecordResult &result);
// The one that is kept; no object if it is damaged.
nlohmann::json load_summary(const run::RunFiles &files);
// Of either: whether the workload came to its end with success.
bool workload_finished(const nlohmann::json &summary);

} // namespace fencepost::record
