// SPDX-License-Identifier: GPL-2.0-or-later
// Whether what the workload did reached PM at all. A run in which nothing did has crash states of
// nothing, and would pass.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "replayer/record/recorder.h"
#include "trace/reader.h"

namespace fencepost::record {

struct Reach {
    bool known = false;                 // the trace says where the workload begins
    std::uint64_t stores = 0;           // to PM, from there on
    std::uint64_t program_flushes = 0;  // of PM, by programs
    std::uint64_t volatile_flushes = 0; // of other memory, by programs
    std::string volatile_module;        // the program or library with most of them
    std::uint64_t operations = 0;       // that are marked and succeeded
    std::set<std::string> made;         // paths of files and directories that system calls made

    bool reached() const { return !known || stores != 0; }
};

Reach reach_of(const trace::TraceReader &reader);

// Whether the file system's files are mapped and written in PM itself, where that is a choice.
// `kernel_log`: of the recording; a file system may have turned DAX off.
bool mounted_without_dax(const agent::MountRequest &mount, const std::string &kernel_log);

// Counters for the trace, with what to change. Those that are 0 too.
std::vector<trace::DataQuality> reach_counters(const Reach &reach, const run::Inputs &inputs,
                                               const std::string &kernel_log);

// Of a recorded trace: those of the counters that are not 0, the gravest first, and the flushes
// that could not be attributed.
std::vector<trace::DataQuality> reach_warnings(const trace::TraceReader &reader);
// Why a test of it that finds nothing is no pass: nothing of the workload reached PM, or its
// programs make durable what is not PM. Empty: it is one.
std::string why_no_pass(const trace::TraceReader &reader);

} // namespace fencepost::record
