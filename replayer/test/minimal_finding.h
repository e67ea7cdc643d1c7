// SPDX-License-Identifier: GPL-2.0-or-later
// What minimizing a finding gives: a failing and a passing state that hardly differ, and what must
// persist and what must be lost. docs/reference/minimal-json.md has the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analyzer/findings/finding.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/state_asker.h"
#include "trace/records.h"

namespace fencepost::test {

// Bytes that a store writes, one after the other.
struct StoredBytes {
    std::uint64_t address = 0;
    std::vector<std::byte> before = {};
    std::vector<std::byte> after = {};
    std::string belongs_to = {}; // what the file system has there; empty: nobody knows
};

// A store, or the part of it that makes the difference.
struct MinimalStore {
    findings::Place at = {}; // its role: kPersisted or kLost, in the failing state
    bool non_temporal = false;
    std::vector<StoredBytes> bytes = {};
    // It must be there (or cannot be) because of the order of its line alone.
    bool implied = false;
};

inline constexpr std::string_view kPersisted = "persisted";
inline constexpr std::string_view kLost = "lost";

struct MinimalState {
    std::string state = {}; // its id
    bool confirmed = false; // a warm and a freshly restored guest say so
};

struct EarliestFailure {
    std::string state = {}; // its id
    std::uint64_t seq = 0;
    std::string operation = {};
};

struct MinimalFinding {
    std::string finding = {};
    std::string of_state = {}; // that was minimized
    bool reproduced = false;
    bool complete = false; // false: a limit was met, or it was interrupted
    bool exact = false;    // states in between fail too
    MinimalState failing = {};
    std::optional<MinimalState> passing = {};
    std::vector<MinimalStore> differ = {};    // in the pair
    std::vector<MinimalStore> persisted = {}; // it needs all of them
    std::vector<MinimalStore> lost = {};      // likewise
    std::optional<EarliestFailure> earliest = {};
    std::vector<AskedState> asked = {}; // tests in guests, with confirmations
    std::uint64_t known = 0;            // answers from results.db
    double seconds = 0;
    bool interrupted = false;
};

// One sentence for people: when it fails.
std::string sentence(const MinimalFinding &minimal, std::span<const trace::Region> regions);

nlohmann::json to_json(const MinimalFinding &minimal, std::span<const trace::Region> regions);
// minimal.json of the finding; `discarded` where there is none, or none that is JSON.
nlohmann::json kept_minimal(const run::RunFiles &run, const std::string &finding);
// Whether it is there and is a whole result about the finding's state.
bool is_minimized(const run::RunFiles &run, const findings::Finding &finding);
// Its sentence, if it is about the finding's state, whole or not; else empty. Anybody's text.
std::string kept_sentence(const run::RunFiles &run, const findings::Finding &finding);

} // namespace fencepost::test
