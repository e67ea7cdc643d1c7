// SPDX-License-Identifier: GPL-2.0-or-later
// What a run recorded, at a glance, as `fencepost info --json` prints it.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "trace/reader.h"

namespace fencepost::run {

// At most `limit` functions and operations are listed.
nlohmann::json info_json(const trace::TraceReader &reader, std::size_t limit);

} // namespace fencepost::run
