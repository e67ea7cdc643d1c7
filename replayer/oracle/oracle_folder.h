// SPDX-License-Identifier: GPL-2.0-or-later
// Folders of oracles that are programs on the host, ours and the user's: oracle.toml and the
// program, as fsck-oracles/README.md describes them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/sandbox.h"

namespace fencepost::oracle {

struct OracleFolder {
    std::string name;
    std::filesystem::path directory;
    std::string summary;
    std::vector<std::string> file_systems; // that it is for; empty: any
    std::filesystem::path program;
    std::vector<std::string> needs; // programs that must be installed
    bool before = false;            // sees the image before the guest does
    bool after = false;             // and when the guest is done with it
    bool copy = false;              // `after` too works on a copy of its own
    bool users = false;             // named by its path
    SandboxLimits limits;

    bool is_for(const std::string &file_system) const;
    // The first of `needs` that is not installed.
    std::optional<std::string> missing_need() const;
};

// `name`: of one of ours, or a directory if it has a '/'. Mistakes are usage errors.
OracleFolder find_folder(const std::string &name);
// Ours, sorted by name.
std::vector<OracleFolder> shipped_folders();

// Of all that can be asked for without a path: oracle_table() and our folders, sorted.
std::vector<std::string> oracle_names();

} // namespace fencepost::oracle
