// SPDX-License-Identifier: GPL-2.0-or-later
// redundant-flush: the line has nothing that a flush could do for it.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

namespace fencepost::rules {

namespace {

class RedundantFlush : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "redundant-flush",
        "a flush of a line that is clean, or was flushed already and not written since",
        Severity::performance,
        "certain for this run; another run may write the line on another path. Under eadr every "
        "flush is one",
        "suppress it for the function that flushes, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return kFlushes; }

    void flush(const FlushSeen &seen) override
    {
        const FlushEffect effect = seen.result.effect;
        const bool eadr = context_.settings.eadr();
        if (!eadr && effect != FlushEffect::repeated && effect != FlushEffect::clean)
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::performance,
                                             {seen.seq, seen.event.site, seen.event.stack},
                                             seen.event.first_line());
        if (!draft)
            return;
        draft->message = eadr ? "a flush that eadr does not need: caches survive"
                         : effect == FlushEffect::repeated
                             ? "a line is flushed again, and was not written since"
                             : "a line is flushed that has nothing in flight";
        draft->fix = "no flush here";
        if (!eadr && seen.result.has_other) {
            draft->other_role = "earlier flush";
            draft->other = seen.result.other;
        }
    }
};

} // namespace

CatalogEntry redundant_flush()
{
    return catalog_entry<RedundantFlush>();
}

} // namespace fencepost::rules
