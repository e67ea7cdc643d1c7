// SPDX-License-Identifier: GPL-2.0-or-later
// Where in a trace a function is at work.
#pragma once

#include <string>

#include "replayer/states/window.h"

namespace fencepost::states {

// From each first event of the function, or of what it calls, to the fence behind the last. What
// compilers append to a name (`.isra.0`) does not count. A function that the trace does not have is
// an Error(usage).
Window function_window(const trace::TraceReader &reader, const std::string &function);

} // namespace fencepost::states
