// SPDX-License-Identifier: GPL-2.0-or-later
// The rules that there are; a new one gets a line here and one in rule_catalog.cpp.
#pragma once

#include <memory>

#include "analyzer/rules/rule.h"

namespace fencepost::rules {

struct CatalogEntry {
    const RuleInfo *info;
    std::unique_ptr<Rule> (*make)(const RuleContext &);
};

template <typename Kind> CatalogEntry catalog_entry()
{
    return {&Kind::kInfo, [](const RuleContext &context) -> std::unique_ptr<Rule> {
                return std::make_unique<Kind>(context);
            }};
}

CatalogEntry missing_flush();
CatalogEntry missing_fence();
CatalogEntry overwrite_in_flight();
CatalogEntry unordered();
CatalogEntry epoch_durability();
CatalogEntry strand_order();
CatalogEntry torn_store();
CatalogEntry unordered_batch();
CatalogEntry unlogged_in_tx();
CatalogEntry redundant_flush();
CatalogEntry flush_nothing();
CatalogEntry flush_after_nt();
CatalogEntry redundant_fence();
CatalogEntry redundant_epoch_fence();
CatalogEntry redundant_log();
CatalogEntry transient_data();

} // namespace fencepost::rules
