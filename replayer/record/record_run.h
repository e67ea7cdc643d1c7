// SPDX-License-Identifier: GPL-2.0-or-later
// A workload recorded into a run directory, or a recording of the same that is there already.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "replayer/record/recorder.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"

namespace fencepost::record {

struct RecordRequest {
    run::Spec spec;
    std::filesystem::path run; // directory
    bool stacks = true;
    bool force = false; // replaces a finished recording
};

// Makes the run: trace, inputs, what the guest said, names of its code. A recording that is not
// complete is there too: the caller looks at its result.
RecordResult record_run(const RecordRequest &request, const std::filesystem::path &cache,
                        const RecordProgress &progress);

// The same from inputs that are there. `spec`: what names the code, and which fences are
// incidental.
RecordResult record_inputs(const run::RunFiles &files, const run::Inputs &inputs,
                           const run::Spec &spec, const std::filesystem::path &cache,
                           const RecordProgress &progress);

// An Error(trace) for a recording that is not complete.
void require_complete(const RecordResult &result);

enum class Reuse {
    no,          // there is none
    as_it_is,    // and its verdicts count
    judged_anew, // the [test] table has changed: its verdicts do not count
};

// Whether the run has a recording of what would be recorded now; the run's inputs are then those of
// now. One of something else, or of another guest image, is an Error(usage).
Reuse reuse_recording(const RecordRequest &request, const std::filesystem::path &cache,
                      const RecordProgress &progress);

struct Recorded {
    Reuse reuse = Reuse::no;
    std::optional<RecordResult> made = {}; // nothing: a recording was there
};

// The recording that is there, or else a new one.
Recorded record_or_reuse(const RecordRequest &request, const std::filesystem::path &cache,
                         const RecordProgress &progress);

// The QEMU command that would record.
std::string dry_run(const RecordRequest &request, const std::filesystem::path &cache,
                    const RecordProgress &progress);

} // namespace fencepost::record
