// SPDX-License-Identifier: GPL-2.0-or-later
// See walk_names.h.
#include "replayer/states/walk_names.h"

#include "base/named_value.h"

namespace fencepost::states {

WalkOptions walk_options(const WalkNames &names)
{
    WalkOptions walk;
    walk.model =
        named_value(model::model_named(names.model), "model", names.model, "adr, eadr and line");
    walk.fences = named_value(model::fence_rule_named(names.fences), "fence rule", names.fences,
                              "explicit and architectural");
    walk.grouping =
        named_value(grouping_named(names.group), "grouping", names.group, "auto, run and off");
    walk.strategies = parse_strategies(names.strategy);
    walk.seed = names.seed;
    return walk;
}

} // namespace fencepost::states
