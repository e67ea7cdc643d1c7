// SPDX-License-Identifier: GPL-2.0-or-later
// flush-after-nt: a flush of what only went around the cache.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

namespace fencepost::rules {

namespace {

class FlushAfterNt : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "flush-after-nt",
        "a flush of a line that only non-temporal stores have written since its last flush",
        Severity::performance,
        "certain: non-temporal stores are not in the cache, they need a fence and no flush",
        "suppress it for the function that flushes, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kFlushes; }

    void flush(const FlushSeen &seen) override
    {
        if (seen.result.effect != FlushEffect::after_nt)
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::performance,
                                             {seen.seq, seen.event.site, seen.event.stack},
                                             seen.event.first_line());
        if (!draft)
            return;
        draft->message = "a line is flushed that only non-temporal stores have written";
        draft->fix = "no flush here; the fence is enough";
        if (seen.result.has_other) {
            draft->other_role = "non-temporal store";
            draft->other = seen.result.other;
        }
    }
};

} // namespace

CatalogEntry flush_after_nt()
{
    return catalog_entry<FlushAfterNt>();
}

} // namespace fencepost::rules
