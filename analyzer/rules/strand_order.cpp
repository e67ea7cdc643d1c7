// SPDX-License-Identifier: GPL-2.0-or-later
// strand-order: two strands write A and B, and nothing that strands promise puts A first.
#include "analyzer/rules/order_ranges.h"
#include "analyzer/rules/rule_catalog.h"
#include "analyzer/rules/scope_tracker.h"

#include <fmt/core.h>

#include "analyzer/rules/finding_list.h"

namespace fencepost::rules {

namespace {

class StrandOrder : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "strand-order",
        "one strand wrote a range before another strand had persisted the one that must come first",
        Severity::bug,
        "certain under strand persistency: strands are independent, so a fence of one orders "
        "nothing for another",
        "choose --persistency epoch where fences order everything, or take the rule out of the "
        "order file"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override
    {
        return context_.settings.persistency == Persistency::strand && !context_.order.empty()
                   ? kStores | kSettled
                   : 0;
    }

    void store(const StoreSeen &seen) override
    {
        context_.order.for_each_violation(
            seen.event, context_.lines, context_.scopes, [&](const OrderViolation &found) {
                if (!found.crosses_strands)
                    return;
                Draft *draft =
                    context_.findings.hit(kInfo, Severity::bug, seen.origin(), found.line);
                if (!draft)
                    return;
                draft->message = fmt::format(
                    "{} writes {} before {} has persisted {}{} ({}, {})", name(found.second_strand),
                    found.rule.second.text, name(found.first_strand), found.rule.first.text,
                    found.settled_elsewhere ? " by a fence of its own" : "", found.rule.text,
                    found.rule.line.place);
                draft->fix = fmt::format(
                    "{} in {} after the store at {}, and a join of the two before this store",
                    found.flushed || found.non_temporal || found.settled_elsewhere
                        ? "a fence"
                        : "a flush and a fence",
                    name(found.first_strand), context_.code.where(found.first.site));
                draft->other_role = "store to " + found.rule.first.text;
                draft->other = found.first;
                if (!found.settled_elsewhere)
                    draft->crash_seq = seen.seq + 1;
            });
        context_.order.note_store(seen.seq, seen.event, context_.scopes.strand(seen.event));
    }

    void settled(const FenceSeen &seen, const WrittenLine &line, std::uint8_t) override
    {
        context_.order.note_settled(line.line, context_.scopes.strand(seen.event));
    }

private:
    static std::string name(std::int64_t strand)
    {
        return strand == 0 ? "code outside of strands" : fmt::format("strand {}", strand);
    }
};

} // namespace

CatalogEntry strand_order()
{
    return catalog_entry<StrandOrder>();
}

} // namespace fencepost::rules
