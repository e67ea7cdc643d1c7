// SPDX-License-Identifier: GPL-2.0-or-later
// What a judge learns from images without a crash, before any other is tested.
#pragma once

#include "replayer/guest/pool/worker.h"

namespace fencepost::test {

// Shows the judge the initial image, in a guest that is thrown away. Does nothing for a judge that
// has nothing to learn.
void learn_healthy(const guest::WorkerPlan &plan);

} // namespace fencepost::test
