// SPDX-License-Identifier: GPL-2.0-or-later
// A run whose databases a killed process left half written.
#pragma once

#include <filesystem>
#include <vector>

namespace fencepost::run {

// Rolls the databases of a run, or a trace by itself, back to what was written whole. Returns the
// files that this changed. Locks the run; refuses what is no trace.
std::vector<std::filesystem::path> repair(const std::filesystem::path &run);

} // namespace fencepost::run
