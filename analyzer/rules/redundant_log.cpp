// SPDX-License-Identifier: GPL-2.0-or-later
// redundant-log: a transaction writes the same bytes to its log twice.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"
#include "analyzer/rules/transaction_table.h"

#include <algorithm>

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class RedundantLog : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "redundant-log", "a transaction logged bytes that it had logged before",
        Severity::performance,
        "as certain as the table's way to recognise log entries. libpmemobj skips what is in its "
        "log already, so a second "
        "pmemobj_tx_add_range() of the same range costs nothing and leaves no event",
        "suppress it for the function that logs, or for its callers"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return kScopes; }

    void scope_end(const Scope &scope) override
    {
        std::vector<const Scope::LogEntry *> entries;
        for (const Scope::LogEntry &entry : scope.log)
            entries.push_back(&entry);
        std::sort(entries.begin(), entries.end(), [](const auto *a, const auto *b) {
            return a->offset != b->offset ? a->offset < b->offset : a->origin.seq < b->origin.seq;
        });
        const Scope::LogEntry *widest = nullptr; // of those before: the one that reaches furthest
        for (const Scope::LogEntry *entry : entries) {
            if (widest && entry->offset - widest->offset < widest->size)
                report(scope, *widest, *entry);
            if (!widest || entry->offset + entry->size > widest->offset + widest->size)
                widest = entry;
        }
    }

private:
    void report(const Scope &scope, const Scope::LogEntry &one, const Scope::LogEntry &two)
    {
        const Scope::LogEntry &first = one.origin.seq < two.origin.seq ? one : two;
        const Scope::LogEntry &second = one.origin.seq < two.origin.seq ? two : one;
        Draft *draft =
            context_.findings.hit(kInfo, Severity::performance, second.origin, second.line);
        if (!draft)
            return;
        draft->message = fmt::format(
            "a transaction of {} logs {} bytes at 0x{:x}, and had logged {} bytes at 0x{:x} before",
            scope.table->name, second.size, second.offset, first.size, first.offset);
        draft->fix = "log it once";
        draft->other_role = "earlier entry";
        draft->other = first.origin;
    }
};

} // namespace

CatalogEntry redundant_log()
{
    return catalog_entry<RedundantLog>();
}

} // namespace fencepost::rules
