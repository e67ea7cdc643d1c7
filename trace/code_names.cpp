// SPDX-License-Identifier: GPL-2.0-or-later
// See code_names.h.
#include "trace/code_names.h"

#include <fmt/format.h>

namespace fencepost::trace {

CodeNames::CodeNames(const TraceReader &reader)
    : regions_(reader.regions()),
      site_(reader.connection(), "SELECT function, offset, source_file, source_line FROM site_name WHERE site = ?"),
      stack_(reader.connection(), "SELECT function FROM stack_line WHERE stack = ? ORDER BY depth")
{
}

std::string CodeNames::place(std::uint64_t address) const
{
    for (const Region &region : regions_)
        if (region.contains(address))
            return fmt::format("{}+{:#x}", region.name, address - region.base);
    return fmt::format("{:#x}", address);
}

std::string CodeNames::site(SiteId id)
{
    std::string text = "unknown code";
    site_.bind(1, std::uint64_t{id});
    if (site_.step()) {
        text = site_.text(0);
        if (!site_.is_null(1) && site_.integer(1) != 0)
            text += fmt::format("+{:#x}", site_.integer(1));
        if (!site_.is_null(2))
            text += fmt::format(" ({}:{})", site_.text(2), site_.integer(3));
    }
    site_.reset();
    return text;
}

std::vector<std::string> CodeNames::stack(StackId id)
{
    std::vector<std::string> frames;
    stack_.bind(1, std::uint64_t{id});
    while (id != 0 && stack_.step())
        frames.emplace_back(stack_.text(0));
    stack_.reset();
    return frames;
}

} // namespace fencepost::trace
