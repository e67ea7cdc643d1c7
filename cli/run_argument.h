// SPDX-License-Identifier: GPL-2.0-or-later
// The argument RUN that verbs take: a run directory, or the trace in one.
#pragma once

#include <filesystem>

#include "trace/reader.h"

namespace fencepost::cli {

// The trace of a run. What is neither a run nor a file is Error(usage).
std::filesystem::path trace_of(const std::filesystem::path &run);

// A recording that did not end and that nobody is at work on any more.
bool was_interrupted(const trace::TraceReader &reader);
// Error(trace) for such a one.
[[noreturn]] void fail_interrupted(const trace::TraceReader &reader);
void refuse_interrupted(const trace::TraceReader &reader);

} // namespace fencepost::cli
