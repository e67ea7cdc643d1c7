// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost record` and `fencepost verify` for other verbs.
#pragma once

#include <string>

#include "cli/progress_line.h"
#include "cli/verb.h"
#include "replayer/record/record_run.h"
#include "replayer/record/verify.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

struct RecordArguments {
    std::string spec = {};
    std::string run = {};
    bool no_stacks = false;
    bool force = false;
    bool anywhere = false;
    bool dry_run = false;
};

void add_record_arguments(App &verb, RecordArguments &arguments);
// Mistakes in the spec and in the files that it names are usage errors.
record::RecordRequest record_request(const RecordArguments &arguments);

// What a recording says while it goes on, on stderr.
class RecordingProgress {
public:
    explicit RecordingProgress(const Context &context)
        : context_(context), counter_(context, std::chrono::seconds(5))
    {
    }

    record::RecordProgress to();

private:
    const Context &context_;
    ProgressLine counter_;
};

void print_recording(const run::RunFiles &files, const record::RecordResult &result);
// A recording that is not complete is shown, and an Error(trace).
void require_complete(const Context &context, const run::RunFiles &files,
                      const record::RecordResult &result);

// Records again `times` times; 0: only looks.
record::VerifyReport verify_run(const Context &context, const run::RunFiles &files, unsigned times);
void print_verification(const record::VerifyReport &report);

} // namespace fencepost::cli
