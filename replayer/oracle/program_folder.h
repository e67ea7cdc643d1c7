// SPDX-License-Identifier: GPL-2.0-or-later
// Folders of programs on the host that look at images in a sandbox, ours and the user's: a table in
// TOML and the program beside it. Oracles are such, and annotators.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/sandbox.h"

namespace fencepost::run {
class TableReader;
}

namespace fencepost::oracle {

struct ProgramFolder {
    std::string name;
    std::filesystem::path directory;
    std::string summary;
    std::vector<std::string> file_systems; // that it is for; empty: any
    std::filesystem::path program;
    std::vector<std::string> needs; // programs that must be installed
    bool users = false;             // named by its path
    SandboxLimits limits;

    bool is_for(const std::string &file_system) const;
    // The first of `needs` that is not installed.
    std::optional<std::string> missing_need() const;
};

// What such folders are, as their users call them.
struct FolderKind {
    std::string kind;                          // "oracle": the table is oracle.toml
    std::vector<std::string> more_fields = {}; // beside those of every folder
    std::chrono::seconds time_limit = std::chrono::seconds(60); // where the table has none
};

// Reads KIND.toml in `directory`, which its user calls `name`. `read_more`: of the further fields.
// Mistakes are usage errors.
void read_program_folder(const FolderKind &kind, const std::filesystem::path &directory,
                         const std::string &name, ProgramFolder &folder,
                         const std::function<void(const run::TableReader &)> &read_more = {});

} // namespace fencepost::oracle
