// SPDX-License-Identifier: GPL-2.0-or-later
// missing-fence: flushed or non-temporal, and no fence made it guaranteed.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class MissingFence : public Rule {
public:
    static constexpr RuleInfo kInfo = {"missing-fence",
                                       "a store was flushed or is non-temporal, and no fence of "
                                       "that vCPU followed by the end of the run, or of an "
                                       "operation that must be durable",
                                       Severity::bug,
                                       "certain that the bytes can be lost when power fails at the "
                                       "end; a warning where a locked instruction acts as the "
                                       "fence",
                                       "suppress it for the function that stores; end the workload "
                                       "with sync where a file system owes nothing before it"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return kInFlight; }

    void in_flight(const InFlightSeen &seen) override
    {
        const std::uint8_t bit = static_cast<std::uint8_t>(1u << seen.unit);
        if (!((seen.line.nt | seen.line.flushed) & bit))
            return;
        const Durability durability = durability_of(context_, seen.line, seen.unit);
        Draft *draft = context_.findings.hit(kInfo, durability.severity,
                                             seen.line.writes[seen.unit].event(), seen.line.line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a store {}, by the end of {}", durability.lacks,
            seen.operation ? fmt::format("operation {}", seen.operation->number) : "the run");
        draft->fix = durability.fix;
        draft->note = durability.relies_on_lock ? kReliesOnLock : "";
        name_flush(context_, seen.line, seen.unit, *draft);
    }
};

} // namespace

CatalogEntry missing_fence()
{
    return catalog_entry<MissingFence>();
}

} // namespace fencepost::rules
