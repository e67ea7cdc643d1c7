// SPDX-License-Identifier: GPL-2.0-or-later
// overwrite-in-flight: the same bytes written again before they were guaranteed.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/rule_catalog.h"

namespace fencepost::rules {

namespace {

class OverwriteInFlight : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "overwrite-in-flight", "bytes were written again before the first write was guaranteed",
        Severity::bug,
        "certain under strict persistency, where every store is to persist before the next; in the "
        "relaxed models it is the "
        "normal case and not looked for",
        "choose --persistency epoch, or suppress it for the function that stores"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override
    {
        return context_.settings.persistency == Persistency::strict ? kOverwrites : 0;
    }

    void overwrite(const OverwriteSeen &seen) override
    {
        Draft *draft = context_.findings.hit(
            kInfo, Severity::bug, {seen.seq, seen.event.site, seen.event.stack}, seen.line.line);
        if (!draft)
            return;
        const Durability durability = durability_of(context_, seen.line, seen.unit);
        draft->message = "bytes are written again while the write before, which " +
                         durability.lacks + ", is in flight";
        draft->fix = durability.fix + ", before this store";
        draft->other_role = "the write before";
        draft->other = seen.line.writes[seen.unit].event();
    }
};

} // namespace

CatalogEntry overwrite_in_flight()
{
    return catalog_entry<OverwriteInFlight>();
}

} // namespace fencepost::rules
