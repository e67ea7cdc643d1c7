// SPDX-License-Identifier: GPL-2.0-or-later
// redundant-fence: a fence with nothing to wait for.
#include "analyzer/rules/call_paths.h"
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <vector>

namespace fencepost::rules {

namespace {

class RedundantFence : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "redundant-fence",
        "a fence with no flush and no non-temporal store of its vCPU since the fence before",
        Severity::performance,
        "certain that it guarantees nothing; it may order other memory. Fences of code that has "
        "nothing to do with PM in "
        "this run are left out",
        "suppress it for the function that fences, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return kFences | kFinish; }

    void fence(const FenceSeen &seen) override
    {
        const bool useful =
            seen.result.after_nt_store || (seen.result.after_flush && !context_.settings.eadr());
        if (useful) {
            if (seen.event.site >= useful_.size())
                useful_.resize(seen.event.site + 1u);
            useful_[seen.event.site] = true;
        } else if (Draft *draft =
                       context_.findings.hit(kInfo, Severity::performance,
                                             {seen.seq, seen.event.site, seen.event.stack})) {
            draft->message = "a fence has nothing to wait for";
            draft->fix = "no fence here";
            if (seen.event.vcpu < last_.size() && last_[seen.event.vcpu].valid) {
                draft->other_role = "fence before";
                draft->other = last_[seen.event.vcpu].origin;
            }
        }
        if (seen.event.vcpu >= last_.size())
            last_.resize(seen.event.vcpu + 1u);
        last_[seen.event.vcpu] = {true, {seen.seq, seen.event.site, seen.event.stack}};
    }

    void finish() override
    {
        context_.findings.drop_if(kInfo, [&](const Draft &draft) {
            const bool useful_elsewhere = draft.at.site < useful_.size() && useful_[draft.at.site];
            return !useful_elsewhere && !context_.paths.works_on_pm(draft.at.site, draft.at.stack);
        });
    }

private:
    std::vector<bool> useful_; // by site: it fenced something once
    struct Last {
        bool valid = false;
        Origin origin = {};
    };
    std::vector<Last> last_; // fence of each vCPU
};

} // namespace

CatalogEntry redundant_fence()
{
    return catalog_entry<RedundantFence>();
}

} // namespace fencepost::rules
