// SPDX-License-Identifier: GPL-2.0-or-later
// Which fences count: those that make flushes and non-temporal stores guaranteed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/event.h"

namespace fencepost::trace {

enum class FenceRule : std::uint8_t {
    explicit_only, // sfence, mfence
    architectural, // also locked instructions and xchg
};

std::string_view name_of(FenceRule rule);
std::optional<FenceRule> fence_rule_named(std::string_view name);

bool counts_as_fence(FenceKind kind, FenceRule rule);
inline bool counts_as_fence(const Event &event, FenceRule rule)
{
    return event.kind == EventKind::fence && counts_as_fence(event.fence_kind(), rule);
}

} // namespace fencepost::trace
