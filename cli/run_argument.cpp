// SPDX-License-Identifier: GPL-2.0-or-later
// See run_argument.h.
#include "cli/run_argument.h"

#include "base/error.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

std::filesystem::path trace_of(const std::filesystem::path &run)
{
    return run::trace_of(run);
}

bool was_interrupted(const trace::TraceReader &reader)
{
    const trace::RecordingState state = reader.recording().state;
    if (state != trace::RecordingState::prepared && state != trace::RecordingState::running)
        return false;
    return !run::is_being_recorded({reader.path().parent_path()});
}

void fail_interrupted(const trace::TraceReader &reader)
{
    fail(ErrorKind::trace,
         "the recording of {} was interrupted after {} event{}, and nobody goes on with it; record "
         "it again",
         reader.path().string(), reader.event_count(), reader.event_count() == 1 ? "" : "s");
}

void refuse_interrupted(const trace::TraceReader &reader)
{
    if (was_interrupted(reader))
        fail_interrupted(reader);
}

} // namespace fencepost::cli
