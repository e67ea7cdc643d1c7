// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle_table.h.
#include "replayer/oracle/oracle_table.h"

#include <algorithm>
#include <array>

namespace fencepost::oracle {

// Each in the file of its oracle.
OracleFactory make_differential_oracle;
OracleFactory make_intact_oracle;
OracleFactory make_mount_oracle;
OracleFactory make_program_oracle;
OracleFactory make_semantic_oracle;
OracleFactory make_usable_oracle;

namespace {

constexpr std::array kTable = {
    OracleEntry{"differential", "as semantic, with the legal trees taken from another file system",
                OracleNeed::file_system, OracleTurn::by_name, HealthyObjection::is_masked,
                make_differential_oracle},
    OracleEntry{"intact",
                "every name can be read and is listed once, and a file has as many names as links; "
                "needs no legal trees",
                OracleNeed::file_system, OracleTurn::by_name, HealthyObjection::is_masked,
                make_intact_oracle},
    OracleEntry{"mount",
                "the guest mounts and unmounts it; its kernel log is watched for crashes, warnings "
                "and errors",
                OracleNeed::file_system, OracleTurn::always, HealthyObjection::is_masked,
                make_mount_oracle},
    OracleEntry{"program",
                "the recovery command of the spec, in the guest: exit status 0 is consistent",
                OracleNeed::recovery_command, OracleTurn::by_default,
                // A checker that always fails would pass everything.
                HealthyObjection::is_wrong, make_program_oracle},
    OracleEntry{"semantic",
                "the tree after recovery is one that the workload may leave at that point",
                OracleNeed::file_system, OracleTurn::by_default, HealthyObjection::ends_trust,
                make_semantic_oracle},
    OracleEntry{"usable",
                "files can be created, written, read, renamed, linked and removed in every "
                "directory, and what was recovered can be removed without a leak",
                OracleNeed::file_system, OracleTurn::by_default, HealthyObjection::is_masked,
                make_usable_oracle},
};

} // namespace

std::span<const OracleEntry> oracle_table()
{
    return kTable;
}

const OracleEntry *find_entry(std::string_view name)
{
    const auto found = std::find_if(kTable.begin(), kTable.end(),
                                    [&](const OracleEntry &each) { return each.name == name; });
    return found == kTable.end() ? nullptr : &*found;
}

} // namespace fencepost::oracle
