// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles that are programs on the host: a folder with oracle.toml and a program, as
// fsck-oracles/README.md describes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/oracle/sandbox.h"

namespace fencepost::oracle {

struct OracleFolder {
    std::string name;
    std::filesystem::path directory;
    std::string summary;
    bool built_in = false;                 // no program: fencepost itself is the oracle
    std::vector<std::string> file_systems; // that it is for; empty: any
    std::filesystem::path program;
    std::vector<std::string> needs; // programs that must be installed
    bool before = false;            // sees the image before the guest does
    bool after = false;             // and when the guest is done with it
    bool copy = false;              // `after` too works on a copy of its own
    SandboxLimits limits;

    bool is_for(const std::string &file_system) const;
};

// `name`: of one of ours, or a directory if it has a '/'. Mistakes are usage errors.
OracleFolder find_oracle(const std::string &name);
// Ours, sorted by name.
std::vector<OracleFolder> shipped_oracles();

enum class Phase { before, after };

// Where the file system is.
struct PmPart {
    std::filesystem::path file;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

// Nothing: it passed. Copies are made in `scratch`.
std::optional<Evidence> ask_program(const OracleFolder &oracle, Phase phase, const PmPart &image,
                                    const std::filesystem::path &scratch);

// Copies a part of a file to the start of another; holes stay holes.
void copy_part(const PmPart &from, const std::filesystem::path &to);

} // namespace fencepost::oracle
