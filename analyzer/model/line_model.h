// SPDX-License-Identifier: GPL-2.0-or-later
// Lines as whole things, as older tools see them: for comparison.
#pragma once

#include "analyzer/model/adr_model.h"

namespace fencepost::model {

// The medium takes a line at once, so a line holds what it held after one of its stores: no store
// is torn within a line, and non-temporal stores to a line keep their order. When something is
// guaranteed is as in AdrModel. Its states are among those of `adr`.
class LineModel final : public AdrModel {
public:
    explicit LineModel(FenceRule rule) : AdrModel(ModelKind::line, rule, Order::line) {}
};

} // namespace fencepost::model
