// SPDX-License-Identifier: GPL-2.0-or-later
// torn-store: one store that PM may hold in part.
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule_catalog.h"

#include <fmt/core.h>

namespace fencepost::rules {

namespace {

class TornStore : public Rule {
public:
    static constexpr RuleInfo kInfo = {
        "torn-store", "a single store is several units of 8 bytes, or crosses a line",
        Severity::warning,
        "certain that it can be torn; whether the code counts on it being whole is not known. "
        "Stores that stand next to "
        "each other are a copy and are left out, and so are those in transactions, whose log makes "
        "them whole",
        "suppress it for the function that stores; align what must be whole to 8 bytes"};
    using Rule::Rule;
    const RuleInfo &info() const override { return kInfo; }
    Wants wants() const override { return context_.settings.eadr() ? 0 : kTornStores; }

    void torn_store(const StoreSeen &seen) override
    {
        if (seen.in_transaction)
            return; // what its log undoes need not be whole
        Draft *draft =
            context_.findings.hit(kInfo, Severity::warning, seen.origin(), seen.event.first_line());
        if (!draft)
            return;
        const std::uint64_t first = seen.event.address / trace::kUnitBytes;
        const std::uint64_t last = (seen.event.address + seen.event.size - 1) / trace::kUnitBytes;
        draft->message =
            fmt::format("a store of {} bytes is {} units{}, and a crash can leave some of them",
                        seen.event.size, last - first + 1,
                        seen.event.first_line() != seen.event.last_line() ? " in two lines" : "");
        draft->crash_seq = seen.seq + 1;
    }
};

} // namespace

CatalogEntry torn_store()
{
    return catalog_entry<TornStore>();
}

} // namespace fencepost::rules
