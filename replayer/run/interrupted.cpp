// SPDX-License-Identifier: GPL-2.0-or-later
// See interrupted.h.
#include "replayer/run/interrupted.h"

#include "base/error.h"
#include "replayer/run/run_directory.h"

namespace fencepost::run {

namespace {

bool is_unfinished(const trace::TraceReader &reader)
{
    const trace::RecordingState state = reader.recording().state;
    return state == trace::RecordingState::prepared || state == trace::RecordingState::running;
}

[[noreturn]] void fail_interrupted(const trace::TraceReader &reader)
{
    fail(ErrorKind::trace,
         "the recording of {} was interrupted after {} event{}, and nobody goes on with it; record "
         "it again",
         reader.path().string(), reader.event_count(), reader.event_count() == 1 ? "" : "s");
}

} // namespace

bool was_interrupted(const trace::TraceReader &reader)
{
    return is_unfinished(reader) && !is_being_recorded({reader.path().parent_path()});
}

void refuse_interrupted(const trace::TraceReader &reader)
{
    if (was_interrupted(reader))
        fail_interrupted(reader);
}

void refuse_unfinished(const trace::TraceReader &reader)
{
    if (is_unfinished(reader))
        fail_interrupted(reader);
}

} // namespace fencepost::run
