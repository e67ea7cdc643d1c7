// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of `fencepost states`.
#pragma once

#include <cstdint>
#include <string>

#include "base/output_file.h"
#include "cli/walk_arguments.h"
#include "trace/reader.h"

namespace fencepost::cli {

struct StatesOptions {
    std::string run = {};
    WalkArguments walk = {};
    std::string after = {};
    std::string index = {};
    std::uint64_t limit = UINT64_MAX;
    bool list = false;
    bool epochs = false;
    std::string show = {};
    std::vector<std::string> to_export = {}; // state, file
    bool force = false;
};

// Of the run and the options together.
using Incidental = std::vector<std::string>;

// `--list` and the counts.
void list_states(const trace::TraceReader &reader, const StatesOptions &options,
                 const Incidental &incidental, const Context &context);
// `--show`
void show_state(const trace::TraceReader &reader, const std::string &id,
                const Incidental &incidental, const Context &context);
// `--export`
void export_state(const trace::TraceReader &reader, const std::string &id, const std::string &file,
                  const Incidental &incidental, Overwrite overwrite, const Context &context);

} // namespace fencepost::cli
