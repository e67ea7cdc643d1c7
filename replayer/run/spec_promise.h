// SPDX-License-Identifier: GPL-2.0-or-later
// test.promise of a spec: the name of a preset, or a table of what differs from one.
#pragma once

#include "replayer/run/promise.h"
#include "replayer/run/spec_reader.h"

namespace fencepost::run {

// `test` is the reader of [test].
PromiseSpec read_promise(const TableReader &test);

} // namespace fencepost::run
