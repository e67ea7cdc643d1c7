// SPDX-License-Identifier: GPL-2.0-or-later
// See reach_warnings.h.
#include "cli/reach_warnings.h"

#include <fmt/core.h>

#include "base/terminal_text.h"
#include "replayer/record/reach.h"

namespace fencepost::cli {

void print_warnings(const run::RunFiles &files)
{
    const trace::TraceReader reader(files.trace());
    for (const trace::DataQuality &warning : record::reach_warnings(reader))
        fmt::print("WARNING    {}\n", terminal_text(warning.meaning));
    if (const std::string why = record::why_no_pass(reader); !why.empty())
        fmt::print("verdict    NOT A PASS: {}\n", why);
}

int with_reach(int exit_code, const run::RunFiles &files)
{
    if (exit_code != 0 || record::why_no_pass(trace::TraceReader(files.trace())).empty())
        return exit_code;
    return kNoPass;
}

} // namespace fencepost::cli
