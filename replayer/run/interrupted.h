// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings that did not end and that nobody is at work on any more.
#pragma once

#include "trace/reader.h"

namespace fencepost::run {

bool was_interrupted(const trace::TraceReader &reader);
// Error(trace) for such a one.
void refuse_interrupted(const trace::TraceReader &reader);
// For whoever has locked the run, so that nobody records: Error(trace) for one that did not end.
void refuse_unfinished(const trace::TraceReader &reader);

} // namespace fencepost::run
