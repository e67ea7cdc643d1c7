// SPDX-License-Identifier: GPL-2.0-or-later
// Names for the code in a recording, from what is known about its guest.
#pragma once

#include <filesystem>

#include "analyzer/symbols/symbolize.h"
#include "replayer/guest/template_store.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"

namespace fencepost::record {

symbols::SymbolizeReport name_code(const run::RunFiles &files, const run::Spec &spec,
                                   const guest::Template &source,
                                   const std::filesystem::path &cache);

// Has the counter of flushes that could not be attributed to lines say which code executed them.
void name_lost_flushes(const std::filesystem::path &path);

} // namespace fencepost::record
