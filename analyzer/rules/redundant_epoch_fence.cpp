// SPDX-License-Identifier: GPL-2.0-or-later
// redundant-epoch-fence: an epoch needs one fence, at its end, and had more.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class RedundantEpochFence : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "redundant-epoch-fence",
        "an epoch by markers had more than one fence that guaranteed something",
        Severity::performance,
        "certain if nothing inside of an epoch has to be ordered, which is what an epoch says. A "
        "fence that an order rule "
        "asks for is left out, and so are transactions of libraries, which order their log",
        "suppress it for the function that fences, or end the epoch where order is needed"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override
    {
        return context_.settings.persistency == Persistency::strict ? 0 : kScopes;
    }

    void scope_end(const Scope &scope) override
    {
        if (scope.kind != ScopeKind::marked_epoch)
            return;
        for (std::size_t i = 0; i + 1 < scope.fences.size(); ++i) {
            Draft *draft = context_.findings.hit(kInfo, Severity::performance, scope.fences[i]);
            if (!draft)
                continue;
            draft->message =
                fmt::format("epoch {} (events {} to {}) has {} fences and needs one", scope.number,
                            scope.first_seq, scope.last_seq, scope.fences.size());
            draft->fix = "no fence here; the last one of the epoch is enough";
            draft->other_role = "last fence of the epoch";
            draft->other = scope.fences.back();
        }
    }
};

} // namespace

CatalogEntry redundant_epoch_fence()
{
    return catalog_entry<RedundantEpochFence>();
}

} // namespace fencepost::rules
