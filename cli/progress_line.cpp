// SPDX-License-Identifier: GPL-2.0-or-later
// See progress_line.h.
#include "cli/progress_line.h"

#include <cstdio>

#include <unistd.h>

namespace fencepost::cli {

ProgressLine::ProgressLine(const Context &context, std::chrono::seconds elsewhere)
    : quiet_(context.settings.verbose < 0), elsewhere_(static_cast<double>(elsewhere.count()))
{
}

ProgressLine::~ProgressLine()
{
    if (shown_)
        std::fputs("\n", stderr);
}

void ProgressLine::show(const std::string &line)
{
    if (quiet_)
        return;
    if (isatty(2)) {
        std::fprintf(stderr, "\r%s\033[K", line.c_str());
        shown_ = true;
    } else if (since_line_.seconds() >= elsewhere_) {
        std::fprintf(stderr, "%s\n", line.c_str());
        since_line_ = {};
    }
}

} // namespace fencepost::cli
