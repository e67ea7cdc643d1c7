// SPDX-License-Identifier: GPL-2.0-or-later
// Shell scripts as operations: the commands at a script's top level, and the script with a mark
// before and after each.
#pragma once

#include <string>
#include <vector>

#include "replayer/run/spec.h"

namespace fencepost::run {

struct ScriptCommand {
    std::string text;
    unsigned line = 1; // in its file
};

// The complete commands of the script, in the sense of the shell's grammar: what is on one line,
// and the lines that belong to it because of quotes, here-documents, compound commands, or an
// operator at the end. Comments and empty lines are left out. A usage error names the line of what
// has no end.
std::vector<ScriptCommand> split_script(const SourceText &source);

// A script that does the same and tells the agent before and after each command; see script_marks.h
// of the agent.
std::string marked_script(const std::vector<ScriptCommand> &commands);

} // namespace fencepost::run
