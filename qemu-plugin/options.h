// SPDX-License-Identifier: GPL-2.0-or-later
// What the tracer is told on QEMU's command line: -plugin PATH,trace=FILE[,stacks=on]…
#pragma once

#include <span>
#include <string>

namespace fencepost::tracer {

struct Options {
    std::string trace;     // a prepared trace file
    bool stacks = false;   // record the call stack of every event
    bool loads = false;    // record loads from PM as well
    bool recording = true; // before the first record_on or record_off marker
};

// Throws a usage error that names the option.
Options parse_options(std::span<const char *const> arguments);

} // namespace fencepost::tracer
