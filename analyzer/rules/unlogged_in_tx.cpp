// SPDX-License-Identifier: GPL-2.0-or-later
// unlogged-in-tx: a transaction changes what it did not add to its log.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"
#include "analyzer/rules/transaction_table.h"

#include <algorithm>

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class UnloggedInTx : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "unlogged-in-tx", "a transaction changed a line that it neither logged nor allocated",
        Severity::bug,
        "certain where the commit did not cover the line; a warning where the transaction freed "
        "something after the store, which "
        "may be the object, or where only a neighbour in the same line is in the log",
        "suppress it for the function that stores, where the program handles that data itself"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kScopes; }

    void scope_end(const Scope &scope) override
    {
        if (!scope.is_transaction() || !scope.table->flushed_at_commit || scope.aborted)
            return;
        std::vector<std::uint64_t> covered = scope.covered;
        std::sort(covered.begin(), covered.end());
        for (const Scope::Write &write : scope.writes) {
            if (!std::binary_search(covered.begin(), covered.end(), write.line))
                report_uncovered(scope, write);
            else if (scope.table->entry && !scope.allocated && !scope.writes_cut &&
                     !in_log(scope, write))
                report_neighbour(scope, write);
        }
    }

private:
    // Entries have offsets in a pool, writes have physical addresses: what they share is the place
    // within a page.
    static bool in_log(const Scope &scope, const Scope::Write &write)
    {
        constexpr std::uint64_t kPage = 4096;
        const std::uint64_t size = write.end - write.address;
        return std::any_of(scope.log.begin(), scope.log.end(), [&](const Scope::LogEntry &entry) {
            const std::uint64_t ahead = (write.address - entry.offset) % kPage;
            return entry.size >= kPage || ahead < entry.size || kPage - ahead < size;
        });
    }

    void report_uncovered(const Scope &scope, const Scope::Write &write)
    {
        const WrittenLine *line = context_.lines.find(write.line);
        if (line)
            context_.lines.mark_reported(*line, line->in_flight());
        // What was allocated and freed again is no longer covered, and need not be.
        const bool perhaps_freed = write.origin.seq < scope.last_free;
        Draft *draft = context_.findings.hit(
            kInfo, perhaps_freed ? Severity::warning : Severity::bug, write.origin, write.line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a transaction of {} (events {} to {}) changed a line that it neither logged nor "
            "allocated: an abort does not undo it{}",
            scope.table->name, scope.first_seq, scope.last_seq,
            line ? ", and the commit did not make it durable" : "");
        draft->fix = fix(write);
        draft->note = perhaps_freed ? "may be harmless: the transaction freed something after this "
                                      "store, and if it was "
                                      "an object of its own, nothing is lost"
                                    : "";
    }

    void report_neighbour(const Scope &scope, const Scope::Write &write)
    {
        Draft *draft = context_.findings.hit(kInfo, Severity::warning, write.origin, write.line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a transaction of {} (events {} to {}) changed bytes that are not in its log: an abort "
            "does not undo it; what is logged is a neighbour in the same line",
            scope.table->name, scope.first_seq, scope.last_seq);
        draft->fix = fix(write);
        draft->note = "may be on purpose: libraries can add a range without a snapshot of it";
    }

    std::string fix(const Scope::Write &write) const
    {
        return fmt::format("add the object to the transaction before the store at {}",
                           context_.code.where(write.origin.site));
    }
};

} // namespace

CatalogEntry unlogged_in_tx()
{
    return catalog_entry<UnloggedInTx>();
}

} // namespace fencepost::rules
