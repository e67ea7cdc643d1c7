// SPDX-License-Identifier: GPL-2.0-or-later
// Strategies and oracles that are Python functions.
#pragma once

#include <vector>

#include "python/core/core.h"
#include "python/core/options.h"
#include "replayer/oracle/own_oracle.h"
#include "replayer/states/state_walk.h"
#include "replayer/states/strategy.h"

namespace fencepost::python {

// Options `own_oracles`: tuples of name, version, whether it asks for progress, and a function that
// is given a Visit and answers with None or (text, details as JSON). Names and functions belong to
// `options`, which outlives them.
oracle::OwnOracles own_oracles(const Options &options, Callback &user);

// Option `strategies`: texts as parse_strategies() has them, and tuples of name and function, which
// is given a Point and a function that takes each choice. Likewise.
std::vector<states::Strategy> strategies(const Options &options, Callback &user);

// Options `model`, `fences`, `seed` and `group`.
states::WalkOptions walk_options(const Options &options);

void add_own_classes(py::module_ &module);
// What it calls.
void add_visit(py::module_ &module);

} // namespace fencepost::python
