// SPDX-License-Identifier: GPL-2.0-or-later
// A finding by the id that a user typed.
#pragma once

#include <span>
#include <string_view>

#include "analyzer/findings/finding.h"

namespace fencepost::findings {

// The one with that id, or the only one whose id begins so. None, or several: an Error(usage) that
// names the nearest.
const Finding &find(std::span<const Finding> findings, std::string_view id);

} // namespace fencepost::findings
