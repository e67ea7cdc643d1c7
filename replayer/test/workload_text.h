// SPDX-License-Identifier: GPL-2.0-or-later
// A workload as lines that can be left out or made smaller.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guest-images/agent/ops.h"

namespace fencepost::test {

using Lines = std::vector<std::string>;

// As they were written, without comments.
Lines lines_of(const agent::OpsProgram &program);
std::string text_of(const Lines &lines);
// Nothing: it is no program, as what a line needs was left out.
std::optional<agent::OpsProgram> program_of(const Lines &lines);
// Operations among the lines.
std::size_t operations_in(const agent::OpsProgram &program);

// Whether a workload still fails; nothing: no more may be asked.
using StillFails = std::function<std::optional<bool>(const Lines &)>;

struct Shortened {
    Lines lines;
    bool complete = false;
};

// How many operations lines have; 0: they are no workload.
using OperationsIn = std::function<std::size_t(const Lines &)>;

// Lines left out, then numbers made smaller: those of data, lengths and offsets. What is no
// workload is not asked about.
Shortened shorten(const Lines &lines, const OperationsIn &operations,
                  const StillFails &still_fails);

} // namespace fencepost::test
