// SPDX-License-Identifier: GPL-2.0-or-later
// The stores in which two states of a crash point differ, with what they write.
#pragma once

#include <vector>

#include "analyzer/symbols/code_names.h"
#include "replayer/image/open_point.h"
#include "replayer/test/minimal_finding.h"
#include "replayer/test/operations.h"

namespace fencepost::test {

// In the order in which they were executed; persisted in `failing` and not in `other`, or lost
// there.
std::vector<MinimalStore> stores_between(image::OpenPoint &point, const states::Levels &failing,
                                         const states::Levels &other,
                                         const symbols::CodeNames &names,
                                         const Operations &operations);

} // namespace fencepost::test
