// SPDX-License-Identifier: GPL-2.0-or-later
// A guest's configuration as JSON, for the files that a template and a run keep it in.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "replayer/guest/guest_config.h"

namespace fencepost::guest {

nlohmann::json config_to_json(const GuestConfig &config);
// Throws a json::exception for what config_to_json() did not make.
GuestConfig config_from_json(const nlohmann::json &document);

} // namespace fencepost::guest
