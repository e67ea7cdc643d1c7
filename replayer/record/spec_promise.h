// SPDX-License-Identifier: GPL-2.0-or-later
// test.promise of a spec: the name of a preset, or a table of what differs from one.
#pragma once

#include "replayer/record/spec_reader.h"
#include "replayer/run/promise.h"

namespace fencepost::record {

// `test` is the reader of [test].
run::PromiseSpec read_promise(const TableReader &test);

} // namespace fencepost::record
