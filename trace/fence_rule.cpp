// SPDX-License-Identifier: GPL-2.0-or-later
// See fence_rule.h.
#include "trace/fence_rule.h"

namespace fencepost::trace {

namespace {

constexpr std::string_view kNames[] = {"explicit", "architectural"};

} // namespace

std::string_view name_of(FenceRule rule)
{
    return kNames[static_cast<unsigned>(rule)];
}

std::optional<FenceRule> fence_rule_named(std::string_view name)
{
    for (const FenceRule rule : {FenceRule::explicit_only, FenceRule::architectural})
        if (name_of(rule) == name)
            return rule;
    return std::nullopt;
}

bool counts_as_fence(FenceKind kind, FenceRule rule)
{
    switch (kind) {
    case FenceKind::sfence:
    case FenceKind::mfence:
        return true;
    case FenceKind::lock_rmw:
    case FenceKind::xchg:
        return rule == FenceRule::architectural;
    default:
        return false; // lfence orders no stores; an interrupt that happens to come must hide
                      // nothing
    }
}

} // namespace fencepost::trace
