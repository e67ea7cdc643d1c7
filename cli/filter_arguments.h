// SPDX-License-Identifier: GPL-2.0-or-later
// `--severity`, `--function` and `--module`: the findings that a list shows.
#pragma once

#include <string>

#include "analyzer/findings/filter.h"
#include "cli/verb.h"

namespace fencepost::cli {

struct FilterArguments {
    std::string severities = {};
    std::string function = {};
    std::string module = {};
};

void add_filter_arguments(App &verb, FilterArguments &arguments);
// What is no list of severities is an Error(usage).
findings::Filter filter_of(const FilterArguments &arguments);

} // namespace fencepost::cli
