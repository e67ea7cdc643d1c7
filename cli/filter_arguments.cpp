// SPDX-License-Identifier: GPL-2.0-or-later
// See filter_arguments.h.
#include "cli/filter_arguments.h"

#include "cli/severities.h"

namespace fencepost::cli {

void add_filter_arguments(App &verb, FilterArguments &arguments)
{
    verb.add_option("--severity", arguments.severities,
                    "Lists only findings of these, joined by commas: bug, warning, performance");
    verb.add_option("--function", arguments.function,
                    "Lists only findings in this function, or in what it calls");
    verb.add_option("--module", arguments.module,
                    "Lists only findings in this program, library or kernel module");
}

findings::Filter filter_of(const FilterArguments &arguments)
{
    findings::Filter filter = {.function = arguments.function, .module = arguments.module};
    if (!arguments.severities.empty())
        filter.severities = severities("--severity", arguments.severities);
    return filter;
}

} // namespace fencepost::cli
