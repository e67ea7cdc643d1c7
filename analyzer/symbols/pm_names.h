// SPDX-License-Identifier: GPL-2.0-or-later
// Names for places in PM.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/records.h"

namespace fencepost::symbols {

// "pmem0+0x1240", or the address where no region has it.
std::string pm_name(std::span<const trace::Region> regions, std::uint64_t address);

} // namespace fencepost::symbols
