// SPDX-License-Identifier: GPL-2.0-or-later
// See trace_options.h.
#include "replayer/states/trace_options.h"

#include <fmt/core.h>

namespace fencepost::states {

WalkOptions in_trace(WalkOptions walk, const trace::TraceReader &reader, const std::string &window,
                     const std::vector<std::string> &incidental)
{
    if (!window.empty())
        walk.window = parse_window(window, reader);
    walk.incidental = {reader, trace::incidental_functions(incidental)};
    return walk;
}

std::string meaning_of_ids(const WalkOptions &walk)
{
    return fmt::format(
        "model={} fences={} group={}{}{}", name_of(walk.model), name_of(walk.fences),
        name_of(walk.grouping),
        walk.incidental.digest().empty() ? "" : " incidental=", walk.incidental.digest());
}

} // namespace fencepost::states
