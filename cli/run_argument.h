// SPDX-License-Identifier: GPL-2.0-or-later
// The argument RUN that verbs take: a run directory, or the trace in one.
#pragma once

#include <filesystem>

namespace fencepost::cli {

// The trace of a run. What is neither a run nor a file is Error(usage).
std::filesystem::path trace_of(const std::filesystem::path &run);

} // namespace fencepost::cli
