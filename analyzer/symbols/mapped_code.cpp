// SPDX-License-Identifier: GPL-2.0-or-later
// See mapped_code.h.
#include "analyzer/symbols/mapped_code.h"

#include <fmt/core.h>

namespace fencepost::symbols {

MappedCode::MappedCode(const trace::TraceReader &reader)
{
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        const trace::Marker &marker = row.marker;
        if (row.kind == trace::MarkerKind::note && marker.text.starts_with(trace::kMapNote) &&
            marker.arguments.size() >= 3)
            mappings_.push_back(
                {marker.process, marker.arguments[0], marker.arguments[1], marker.arguments[2]});
    });
}

std::string MappedCode::place(std::uint64_t address_space, std::uint64_t pc,
                              std::string_view module) const
{
    if (!module.empty())
        for (const Mapping &mapping : mappings_)
            if (mapping.process == address_space && pc - mapping.start < mapping.size)
                return fmt::format("{}+{:#x}", module.substr(module.rfind('/') + 1),
                                   pc - mapping.start + mapping.offset);
    return fmt::format("{:#x}", pc);
}

} // namespace fencepost::symbols
