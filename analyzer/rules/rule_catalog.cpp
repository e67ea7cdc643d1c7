// SPDX-License-Identifier: GPL-2.0-or-later
// See rule_catalog.h.
#include "analyzer/rules/rule_catalog.h"

namespace fencepost::rules {

// Each in the file of its rule.
using MakeEntry = CatalogEntry();
MakeEntry missing_flush, missing_fence, overwrite_in_flight, unordered, epoch_durability,
    strand_order, torn_store, unordered_batch, unlogged_in_tx, redundant_flush, flush_nothing,
    flush_after_nt, redundant_fence, redundant_epoch_fence, redundant_log, serial_flush,
    transient_data;

namespace {

const std::vector<CatalogEntry> &catalog()
{
    static const std::vector<CatalogEntry> entries = {
        missing_flush(),    missing_fence(),   overwrite_in_flight(),   unordered(),
        epoch_durability(), strand_order(),    unlogged_in_tx(),        torn_store(),
        unordered_batch(),  transient_data(),  redundant_flush(),       flush_nothing(),
        flush_after_nt(),   redundant_fence(), redundant_epoch_fence(), redundant_log(),
        serial_flush(),
    };
    return entries;
}

} // namespace

std::vector<std::unique_ptr<Rule>> make_rules(const RuleContext &context)
{
    std::vector<std::unique_ptr<Rule>> rules;
    for (const CatalogEntry &entry : catalog())
        rules.push_back(entry.make(context));
    return rules;
}

const std::vector<const RuleInfo *> &all_rules()
{
    static const std::vector<const RuleInfo *> infos = [] {
        std::vector<const RuleInfo *> all;
        for (const CatalogEntry &entry : catalog())
            all.push_back(entry.info);
        return all;
    }();
    return infos;
}

} // namespace fencepost::rules
