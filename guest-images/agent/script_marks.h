// SPDX-License-Identifier: GPL-2.0-or-later
// How a shell script tells the agent that one of its commands begins or ends: by named pipes, so
// that no process is started for it and the script keeps all descriptors for itself.
#pragma once

#include <string>
#include <vector>

namespace fencepost::agent {

inline constexpr const char *kMarkPipe = "/run/fencepost/mark"; // "b NUMBER" or "e NUMBER STATUS"
inline constexpr const char *kMarkedPipe = "/run/fencepost/marked"; // a line when the marker is set

// The shell functions that use them. They leave $? as they found it, except under `set -e`, where a
// function that returns another status than 0 would end the script.
inline constexpr const char *kMarkFunctions =
    "fencepost_mark() {\n"
    "  echo \"$1\" >/run/fencepost/mark; read fencepost_line </run/fencepost/marked || :\n"
    "  case $- in *e*) return 0 ;; esac; return $2\n"
    "}\n"
    "fencepost_begin() { set -- $1 $?; fencepost_mark \"b $1\" $2; }\n"
    "fencepost_end() { set -- $1 $?; fencepost_mark \"e $1 $2\" $2; }\n";

// A process that sets the markers for a script; `operations` are their texts, from number 1 on.
// -1: it cannot be started. The caller kills it.
int start_script_marks(const std::vector<std::string> &operations);

} // namespace fencepost::agent
