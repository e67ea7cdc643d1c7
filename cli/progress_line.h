// SPDX-License-Identifier: GPL-2.0-or-later
// A line on stderr that stands still on a terminal, and comes now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "base/deadline.h"
#include "cli/verb.h"

namespace fencepost::cli {

class ProgressLine {
public:
    // `elsewhere`: the time from one line to the next where there is no terminal.
    ProgressLine(const Context &context, std::chrono::seconds elsewhere);
    ~ProgressLine();
    ProgressLine(const ProgressLine &) = delete;
    ProgressLine &operator=(const ProgressLine &) = delete;

    void show(const std::string &line);

private:
    bool quiet_;
    double elsewhere_; // seconds
    bool shown_ = false;
    Stopwatch since_line_;
};

} // namespace fencepost::cli
