// SPDX-License-Identifier: GPL-2.0-or-later
// See pm_names.h.
#include "analyzer/symbols/pm_names.h"

#include <fmt/format.h>

namespace fencepost::symbols {

std::string pm_name(std::span<const trace::Region> regions, std::uint64_t address)
{
    for (const trace::Region &region : regions)
        if (region.contains(address))
            return fmt::format("{}+{:#x}", region.name, address - region.base);
    return fmt::format("{:#x}", address);
}

} // namespace fencepost::symbols
