// SPDX-License-Identifier: GPL-2.0-or-later
// See advice.h.
#include "analyzer/rules/advice.h"

#include <fmt/core.h>

namespace fencepost::rules {

Durability durability_of(const RuleContext &context, const WrittenLine &line, unsigned unit)
{
    Durability result;
    const std::string store = context.code.where(line.writes[unit].site);
    result.relies_on_lock = context.lines.relies_on_lock(line, unit);
    if (line.nt >> unit & 1) {
        result.lacks = "is non-temporal and no fence of its vCPU followed";
        result.fix = fmt::format("a fence after the store at {}", store);
    } else if (line.flushed >> unit & 1) {
        const Origin *flush = context.lines.last_flush(line.line);
        result.lacks = "was flushed, and no fence of the flushing vCPU followed";
        result.fix = fmt::format("a fence after the flush at {}",
                                 context.code.where(flush ? flush->site : 0));
    } else {
        result.lacks = "was not flushed";
        result.fix = fmt::format("a flush of line 0x{:x} after the store at {}, then a fence",
                                 line.line, store);
    }
    if (result.relies_on_lock)
        result.severity = Severity::warning;
    return result;
}

void name_flush(const RuleContext &context, const WrittenLine &line, unsigned unit, Draft &draft)
{
    const Origin *flush = line.flushed >> unit & 1 ? context.lines.last_flush(line.line) : nullptr;
    if (!flush)
        return;
    draft.other_role = "flush";
    draft.other = *flush;
}

} // namespace fencepost::rules
