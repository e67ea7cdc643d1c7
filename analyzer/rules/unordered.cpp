// SPDX-License-Identifier: GPL-2.0-or-later
// unordered: the user says that A persists before B, and B is written while A is in flight.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/order_ranges.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class Unordered : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "unordered", "a range was written while another that must persist before it was in flight",
        Severity::bug,
        "certain: a crash state has the second and not the first; a warning where a locked "
        "instruction acts as the fence",
        "take the rule out of the order file, or give it the operations to which it applies"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.order.empty() ? 0 : kStores; }

    void store(const StoreSeen &seen) override
    {
        context_.order.for_each_violation(
            seen.event, context_.lines, context_.scopes, [&](const OrderViolation &found) {
                if (found.crosses_strands && context_.settings.persistency == Persistency::strand)
                    return; // strand-order
                Draft *draft = context_.findings.hit(
                    kInfo, found.relies_on_lock ? Severity::warning : Severity::bug, seen.origin(),
                    found.line);
                if (!draft)
                    return;
                const char *lacks = found.non_temporal ? "has not been fenced"
                                    : found.flushed    ? "has been flushed but not fenced"
                                                       : "has not been flushed";
                draft->message = fmt::format("{} is written while {} {} ({}, {})",
                                             found.rule.second.text, found.rule.first.text, lacks,
                                             found.rule.text, found.rule.line.place);
                draft->fix = fmt::format(
                    "{} between the store at {} and this one",
                    found.non_temporal || found.flushed ? "a fence" : "a flush and a fence",
                    context_.code.where(found.first.site));
                draft->note = found.relies_on_lock ? kReliesOnLock : "";
                draft->other_role = "store to " + found.rule.first.text;
                draft->other = found.first;
                draft->crash_seq = seen.seq + 1;
            });
    }
};

} // namespace

CatalogEntry unordered()
{
    return catalog_entry<Unordered>();
}

} // namespace fencepost::rules
