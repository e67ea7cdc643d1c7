// SPDX-License-Identifier: GPL-2.0-or-later
// The language of file operations, and ACE's j-lang, compiled to what the agent executes.
// docs/reference/ops.md has both grammars.
#pragma once

#include <string>
#include <vector>

#include "guest-images/agent/ops.h"
#include "replayer/run/spec.h"

namespace fencepost::run {

// Every mistake is a usage error `NAME:LINE:COLUMN: what is wrong`.
agent::OpsProgram parse_ops(const SourceText &source);
agent::OpsProgram parse_j_lang(const SourceText &source);

// The operations of the language with their arguments, one line each, as in the reference.
std::vector<std::string> ops_forms();

} // namespace fencepost::run
