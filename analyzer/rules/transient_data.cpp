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
        const Origin store = seen.line.writes[seen.unit].event();
        if (seen.operation || !(seen.line.cached & bit) ||
            context_.lines.flushed_for(seen.line.line, store.site))
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::warning, store, seen.line.line);
        if (!draft)
            return;
        draft->message = "a store to a line that the whole run never flushes";
        if (const Origin *flush = context_.lines.last_flush(seen.line.line)) {
            draft->message = context_.lines.is_user(store.site)
                                 ? "a store to a line that is flushed only for the kernel's stores"
                                 : "a store to a line that is flushed only for a program's stores";
            draft->other_role = "last flush of the line";
            draft->other = *flush;
        }
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
