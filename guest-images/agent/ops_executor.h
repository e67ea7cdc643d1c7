// SPDX-License-Identifier: GPL-2.0-or-later
// Executes file operations in this process, with an operation marker before and after each.
#pragma once

#include "guest-images/agent/observer.h"
#include "guest-images/agent/ops.h"

namespace fencepost::agent {

// Relative to the current directory. 0, or 1 after an operation that failed (one line on stderr
// says which); the operations after it are not executed. An observer is told of each operation.
int execute_ops(const OpsProgram &program, Observer *observer = nullptr);

} // namespace fencepost::agent
