// SPDX-License-Identifier: GPL-2.0-or-later
// The table of the oracles that are part of fencepost. What users read about them (messages,
// --help, docs/reference/oracles.md) comes from here; a test compares the page with it. Those that
// are programs on the host are folders: oracle_folder.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "replayer/oracle/oracle.h"

namespace fencepost::oracle {

struct JudgeSettings;

// Named after its entry. May take a while: what it needs to know about the workload is observed.
using OracleFactory = std::unique_ptr<Oracle>(const std::string &name,
                                              const JudgeSettings &settings);

// What a run must have for it.
enum class OracleNeed { file_system, recovery_command };

// When it judges.
enum class OracleTurn {
    always,
    by_default, // or by name
    by_name,
};

// What it means that it objects to a healthy image.
enum class HealthyObjection {
    is_masked, // the same is left out in others
    is_wrong,  // without a crash
    // The oracle is: it is left out. What the workload leaves without a crash is legal, so the
    // history that it compares with is not the workload's.
    ends_trust,
};

struct OracleEntry {
    std::string_view name;
    std::string_view help; // one sentence, as for a reference
    OracleNeed need;
    OracleTurn turn;
    HealthyObjection objection;
    OracleFactory *make;
};

// By name.
std::span<const OracleEntry> oracle_table();
// nullptr: there is none of that name.
const OracleEntry *find_entry(std::string_view name);

} // namespace fencepost::oracle
