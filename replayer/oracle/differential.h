// SPDX-License-Identifier: GPL-2.0-or-later
// Legal states from another file system: what the same operations leave there. A judge that does
// not share the mistakes of the file system under test.
#pragma once

#include "replayer/oracle/legal_states.h"

namespace fencepost::oracle {

// `type` is ext4 or xfs. What two file systems may do differently is masked.
LegalStates find_legal_states_of(const std::string &type, const record::RunFiles &run,
                                 const record::RecordInputs &inputs,
                                 const std::filesystem::path &cache,
                                 const std::function<void(const std::string &line)> &progress);

} // namespace fencepost::oracle
