// SPDX-License-Identifier: GPL-2.0-or-later
// See code_names.h.
#include "trace/code_names.h"

#include <fmt/core.h>

namespace fencepost::trace {

CodeNames::CodeNames(const TraceReader &reader)
    : regions_(reader.regions()), mapped_(reader),
      site_(reader.connection(),
            "SELECT symbol.name, address_space, pc, site.module, pc - symbol.address, source_file, "
            "source_line FROM site LEFT JOIN symbol ON symbol.id = site.symbol WHERE site.id = ?"),
      stack_(reader.connection(),
             "WITH RECURSIVE walk (depth, node) AS (SELECT 0, ? UNION ALL SELECT depth + 1, parent "
             "FROM walk JOIN stack ON stack.id = node WHERE parent IS NOT NULL AND depth < 1000) "
             "SELECT symbol.name, address_space, pc, stack_frame.module FROM walk "
             "JOIN stack ON stack.id = node JOIN stack_frame ON stack_frame.id = stack.frame "
             "LEFT JOIN symbol ON symbol.id = stack_frame.symbol ORDER BY depth")
{
}

// Of a row that begins with the function, the address space, the address and the file.
std::string CodeNames::function(Statement &row) const
{
    if (!row.is_null(0))
        return std::string(row.text(0));
    return mapped_.place(row.number(1), row.number(2), row.text(3));
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
        text = function(site_);
        if (!site_.is_null(4) && site_.integer(4) != 0)
            text += fmt::format("+{:#x}", site_.integer(4));
        if (!site_.is_null(5))
            text += fmt::format(" ({}:{})", site_.text(5), site_.integer(6));
    }
    site_.reset();
    return text;
}

std::vector<std::string> CodeNames::stack(StackId id)
{
    std::vector<std::string> frames;
    stack_.bind(1, std::uint64_t{id});
    while (id != 0 && stack_.step())
        frames.push_back(function(stack_));
    stack_.reset();
    return frames;
}

} // namespace fencepost::trace
