// SPDX-License-Identifier: GPL-2.0-or-later
// unordered-batch: a fence guarantees several lines at once, so their order is not fixed.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <algorithm>

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class UnorderedBatch : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "unordered-batch",
        "a fence guarantees more than one line: in which order they persist is not fixed",
        Severity::warning,
        "certain that the order is open; whether it matters is for the crash states to decide. "
        "Only under strict persistency, "
        "or when asked for by name: batches are what the relaxed models are for",
        "choose --persistency epoch, or suppress it for the function that fences"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override
    {
        const std::vector<std::string> &named = context_.settings.rules;
        const bool asked = std::find(named.begin(), named.end(), kInfo.name) != named.end();
        return asked || context_.settings.persistency == Persistency::strict ? kFences : 0;
    }

    void fence(const FenceSeen &seen) override
    {
        if (seen.result.lines < 2)
            return;
        Draft *draft = context_.findings.hit(kInfo, Severity::warning,
                                             {seen.seq, seen.event.site, seen.event.stack},
                                             seen.result.first_line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a fence guarantees {} lines at once: in which order they persist is not fixed",
            seen.result.lines);
        draft->crash_seq = seen.seq;
    }
};

} // namespace

CatalogEntry unordered_batch()
{
    return catalog_entry<UnorderedBatch>();
}

} // namespace fencepost::rules
