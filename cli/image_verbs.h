// SPDX-License-Identifier: GPL-2.0-or-later
// The verbs below `fencepost image`, one file each.
#pragma once

#include "cli/verb.h"

namespace fencepost::cli {

void add_image_try(CLI::App &image, Context &context);

} // namespace fencepost::cli
