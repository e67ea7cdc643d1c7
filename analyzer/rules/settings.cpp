// SPDX-License-Identifier: GPL-2.0-or-later
// See settings.h.
#include "analyzer/rules/settings.h"

#include "base/error.h"
#include "base/named_value.h"

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

Settings settings_named(const std::string &model, const std::string &fences,
                        const std::string &persistency)
{
    Settings settings;
    const auto named = model::model_named(model);
    if (!named || *named == model::ModelKind::line)
        fail(ErrorKind::usage, "the rules have no model '{}'; there are adr and eadr", model);
    settings.model = *named;
    settings.fences = named_value(model::fence_rule_named(fences), "fence rule", fences,
                                  "explicit and architectural");
    settings.persistency = named_value(persistency_named(persistency), "persistency", persistency,
                                       "strict, epoch and strand");
    return settings;
}

} // namespace fencepost::rules
