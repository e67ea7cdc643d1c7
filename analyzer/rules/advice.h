// SPDX-License-Identifier: GPL-2.0-or-later
// What would have made a write durable: the flush or fence that is missing, and after which
// instruction.
#pragma once

#include <string>

#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/rule.h"

namespace fencepost::rules {

// Of a write that is in flight.
struct Durability {
    std::string lacks; // "was not flushed", …
    std::string fix;
    bool relies_on_lock = false;
    Severity severity =
        Severity::bug; // a warning where a locked instruction happens to act as the fence
};
Durability durability_of(const RuleContext &context, const WrittenLine &line, unsigned unit);

// Puts the flush that waits for its fence into a finding, if there is one.
void name_flush(const RuleContext &context, const WrittenLine &line, unsigned unit, Draft &draft);

inline constexpr char kReliesOnLock[] =
    "relies on an incidental locked instruction: it acts as the fence, and the next "
    "change to the code may take it away";

} // namespace fencepost::rules
