// SPDX-License-Identifier: GPL-2.0-or-later
// Folders of oracles that are programs on the host, ours and the user's: oracle.toml and the
// program, as fsck-oracles/README.md describes them.
#pragma once

#include <string>
#include <vector>

#include "replayer/oracle/program_folder.h"

namespace fencepost::oracle {

struct OracleFolder : ProgramFolder {
    bool before = false; // sees the image before the guest does
    bool after = false;  // and when the guest is done with it
    bool copy = false;   // `after` too works on a copy of its own
};

// `name`: of one of ours, or a directory if it has a '/'. Mistakes are usage errors.
OracleFolder find_folder(const std::string &name);
// Ours, sorted by name.
std::vector<OracleFolder> shipped_folders();

// Of all that can be asked for without a path: oracle_table() and our folders, sorted.
std::vector<std::string> oracle_names();

} // namespace fencepost::oracle
