// SPDX-License-Identifier: GPL-2.0-or-later
// epoch-durability: an epoch or transaction ends with stores of it in flight.
#include "analyzer/rules/advice.h"
#include "analyzer/rules/rule_catalog.h"
#include "analyzer/rules/transaction_table.h"

#include <algorithm>

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class EpochDurability : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "epoch-durability", "an epoch or a transaction ended with stores of it in flight",
        Severity::bug,
        "certain: a crash right after the end loses them; a warning where a locked instruction "
        "acts as the fence",
        "suppress it for the function that stores, or correct the table that describes the "
        "transactions"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return kScopes; }

    void scope_end(const Scope &scope) override
    {
        if (scope.aborted)
            return;
        std::vector<std::uint64_t> covered = scope.covered;
        std::sort(covered.begin(), covered.end());
        const bool only_covered = scope.is_transaction() && scope.table->flushed_at_commit;
        for (const Scope::Write &write : scope.writes) {
            const WrittenLine *line = context_.lines.find(write.line);
            // What a commit should have covered and did not is unlogged-in-tx.
            if (!line ||
                (only_covered && !std::binary_search(covered.begin(), covered.end(), write.line)))
                continue;
            std::uint64_t reported_seq = UINT64_MAX; // a store of several units is one
            for (unsigned unit = 0; unit < model::kUnitsPerLine; ++unit) {
                if (!((line->in_flight() & ~line->marked) >> unit & 1) ||
                    !is_of(scope, line->writes[unit]))
                    continue;
                context_.lines.mark_reported(*line, static_cast<std::uint8_t>(1u << unit));
                if (line->writes[unit].seq() != reported_seq)
                    report(scope, *line, unit);
                reported_seq = line->writes[unit].seq();
            }
        }
    }

private:
    bool is_of(const Scope &scope, const model::UnitWrite &write) const
    {
        return write.seq() >= scope.first_seq &&
               context_.code.address_space(write.site) == scope.process &&
               (scope.process != 0 || write.vcpu() == scope.vcpu);
    }

    void report(const Scope &scope, const WrittenLine &line, unsigned unit)
    {
        const Durability durability = durability_of(context_, line, unit);
        Draft *draft =
            context_.findings.hit(kInfo, durability.severity, line.writes[unit].event(), line.line);
        if (!draft)
            return;
        const std::string what = scope.is_transaction()
                                     ? fmt::format("a transaction of {}", scope.table->name)
                                     : fmt::format("epoch {}", scope.number);
        draft->message = fmt::format("{} (events {} to {}) ended with a store in flight, which {}",
                                     what, scope.first_seq, scope.last_seq, durability.lacks);
        draft->fix = durability.fix + ", before the end";
        draft->note = durability.relies_on_lock ? kReliesOnLock : "";
        draft->crash_seq = scope.last_seq;
        name_flush(context_, line, unit, *draft);
    }
};

} // namespace

CatalogEntry epoch_durability()
{
    return catalog_entry<EpochDurability>();
}

} // namespace fencepost::rules
