// SPDX-License-Identifier: GPL-2.0-or-later
// See progress_text.h.
#include "replayer/test/progress_text.h"

#include <fmt/core.h>

namespace fencepost::test {

namespace {

std::string brief_time(double seconds)
{
    const auto whole = static_cast<unsigned long>(seconds + 0.5);
    if (whole < 100)
        return fmt::format("{} s", whole);
    if (whole < 6000)
        return fmt::format("{} min", (whole + 30) / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

} // namespace

std::string progress_text(const TestProgress &now)
{
    std::string line =
        fmt::format("testing: {} images, {:.1f} a second, {} finding{}", now.tested,
                    now.seconds > 0 ? static_cast<double>(now.tested) / now.seconds : 0,
                    now.findings, now.findings == 1 ? "" : "s");
    if (now.infra_errors != 0)
        line += fmt::format(", {} infra errors", now.infra_errors);
    if (now.seconds_left)
        line += fmt::format(", about {} left", brief_time(*now.seconds_left));
    return line;
}

} // namespace fencepost::test
