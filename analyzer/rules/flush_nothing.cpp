// SPDX-License-Identifier: GPL-2.0-or-later
// flush-nothing: a flush of a line that was never written, or of memory that is not PM.
#include "analyzer/rules/call_paths.h"
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class FlushNothing : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "flush-nothing",
        "a flush of a line that the run never wrote before, or of memory that is not PM",
        Severity::performance,
        "certain for this run; flushes of other memory by kernel code that has nothing to do with "
        "PM are left out",
        "suppress it for the function that flushes, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kFlushes | kFinish; }

    void flush(const FlushSeen &seen) override
    {
        if (seen.result.effect != FlushEffect::never_written)
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::performance,
                                             {seen.seq, seen.event.site, seen.event.stack},
                                             seen.event.first_line());
        if (!draft)
            return;
        draft->message = "a line is flushed that was never written";
        draft->fix = "no flush here";
    }

    // The recorder counts them by site; they are no events.
    void finish() override
    {
        for (const trace::SiteRow &row : context_.code.sites()) {
            const std::uint64_t times = row.counts.volatile_flushes;
            const bool of_pm_code = row.site.privilege == trace::Privilege::user ||
                                    context_.paths.works_on_pm(row.site.id, 0);
            if (times == 0 || !of_pm_code)
                continue;
            // A stack of its own, so that it does not merge with flushes of PM by the same site.
            Draft *draft =
                context_.findings.hit(kInfo, Severity::performance, {0, row.site.id, UINT32_MAX});
            if (!draft)
                continue;
            draft->count = times;
            draft->has_event = false;
            draft->message = "memory that is not PM is flushed";
            draft->fix = "no flush here when the memory is not PM";
        }
    }
};

} // namespace

CatalogEntry flush_nothing()
{
    return catalog_entry<FlushNothing>();
}

} // namespace fencepost::rules
