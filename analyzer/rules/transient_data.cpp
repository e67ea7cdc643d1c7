// SPDX-License-Identifier: GPL-2.0-or-later
// transient-data: bytes in PM that are never persisted, it seems on purpose.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/rule_catalog.h"

namespace fencepost::rules {

namespace {

class TransientData : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "transient-data", "a store to a line that the whole run never flushes", Severity::warning,
        "certain that the bytes can be lost; whether they are meant to survive is not known",
        "suppress it for the function that stores, or keep such data in ordinary memory, which is "
        "faster"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kInFlight; }

    void in_flight(const InFlightSeen &seen) override
    {
        const std::uint8_t bit = static_cast<std::uint8_t>(1u << seen.unit);
        if (seen.operation || !(seen.line.cached & bit) ||
            context_.lines.ever_flushed(seen.line.line))
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::warning,
                                             seen.line.writes[seen.unit].event(), seen.line.line);
        if (!draft)
            return;
        draft->message = "a store to a line that the whole run never flushes";
        draft->fix =
            durability_of(context_, seen.line, seen.unit).fix + ", if the data is to survive";
    }
};

} // namespace

CatalogEntry transient_data()
{
    return catalog_entry<TransientData>();
}

} // namespace fencepost::rules
