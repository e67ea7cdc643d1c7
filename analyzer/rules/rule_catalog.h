// SPDX-License-Identifier: GPL-2.0-or-later
// What a rule is in the catalog. Each rule's file has a function that makes its entry.
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

} // namespace fencepost::rules
