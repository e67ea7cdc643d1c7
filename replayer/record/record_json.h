// SPDX-License-Identifier: GPL-2.0-or-later
// What recording and verifying say, as JSON: the parts of the command's documents.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "replayer/record/verify.h"
#include "replayer/run/run_directory.h"

namespace fencepost::record {

nlohmann::json verification_json(const VerifyReport &report);
// Of reach_warnings().
nlohmann::json warnings_json(const run::RunFiles &files);

} // namespace fencepost::record
