// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence models by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/fence_rule.h"

namespace fencepost::model {

using trace::counts_as_fence;
using trace::fence_rule_named;
using trace::FenceRule;

// docs/explanation/persistence-model.md has the clauses of each.
enum class ModelKind : std::uint8_t {
    adr,  // the memory controller's queues survive a power failure, the caches do not
    eadr, // the caches survive too, write-combining buffers do not
    line, // adr with lines as whole things, as older tools see them: for comparison
};

std::string_view name_of(ModelKind kind);
std::optional<ModelKind> model_named(std::string_view name);

} // namespace fencepost::model
