// SPDX-License-Identifier: GPL-2.0-or-later
// missing-flush: a store that nobody flushed after its last write.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class MissingFlush : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "missing-flush",
        "a store was not flushed by the end of the run, or of an operation that must be durable",
        Severity::bug,
        "certain that the bytes can be lost; that this matters is inferred: the same line is "
        "flushed elsewhere in the run",
        "suppress it for the function that stores; data that need not survive belongs into lines "
        "of its own"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kInFlight; }

    void in_flight(const InFlightSeen &seen) override
    {
        const std::uint8_t bit = static_cast<std::uint8_t>(1u << seen.unit);
        if (!(seen.line.cached & ~seen.line.flushed & bit))
            return;
        const Origin store = seen.line.writes[seen.unit].event();
        if (!seen.operation && !context_.lines.flushed_for(seen.line.line, store.site))
            return; // transient-data
        Draft *draft = context_.findings.hit(kInfo, Severity::bug, store, seen.line.line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a store was not flushed by the end of {}",
            seen.operation ? fmt::format("operation {}", seen.operation->number) : "the run");
        draft->fix = durability_of(context_, seen.line, seen.unit).fix;
        if (const Origin *flush = context_.lines.last_flush(seen.line.line)) {
            draft->other_role = flush->seq < draft->at.seq
                                    ? "last flush of the line, before the store"
                                    : "flush of the line";
            draft->other = *flush;
        }
    }
};

} // namespace

CatalogEntry missing_flush()
{
    return catalog_entry<MissingFlush>();
}

} // namespace fencepost::rules
