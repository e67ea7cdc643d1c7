// SPDX-License-Identifier: GPL-2.0-or-later
// See settings.h.
#include "analyzer/rules/settings.h"

namespace fencepost::rules {

std::string_view name_of(Persistency persistency)
{
    constexpr std::string_view kNames[] = {"strict", "epoch", "strand"};
    return kNames[static_cast<unsigned>(persistency)];
}

std::optional<Persistency> persistency_named(std::string_view name)
{
    for (const Persistency one : {Persistency::strict, Persistency::epoch, Persistency::strand})
        if (name_of(one) == name)
            return one;
    return std::nullopt;
}

} // namespace fencepost::rules
