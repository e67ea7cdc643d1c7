// SPDX-License-Identifier: GPL-2.0-or-later
// A finding: one deduplicated problem with its evidence, whoever found it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/code_place.h"

namespace fencepost::findings {

enum class Severity : std::uint8_t { bug, warning, performance };
inline constexpr Severity kSeverities[] = {Severity::bug, Severity::warning, Severity::performance};
inline constexpr Severity kBugs[] = {Severity::bug};

enum class Kind : std::uint8_t {
    rule,        // a detection rule, in the trace
    crash_state, // oracles, in guests that recovered from crash images
    workload,    // the recording: the workload crashed or hung the guest, and power did not fail
};

// What makes the images of a finding fail.
enum class Decides : std::uint8_t {
    order,   // one store is missing while another is there
    absent,  // a store is missing, whatever else of what is in flight is there
    present, // a store is there, likewise
    neither, // nothing that is in flight: what is guaranteed is wrong
    unknown, // it was not found out
};

// Names as they stand in SQL, JSON and Python.
std::string_view name_of(Severity severity);
std::string_view name_of(Kind kind);
std::string_view name_of(Decides decides);
std::optional<Severity> severity_named(std::string_view name);
std::optional<Decides> decides_named(std::string_view name);
// What decides, if there are such stores; `neither`: if there are none.
Decides with_stores(Decides neither, bool absent, bool present);

// Roles of places. A rule's second place has words of its own ("earlier flush").
inline constexpr std::string_view kAt = "at";           // where a rule has found it
inline constexpr std::string_view kAbsent = "absent";   // the store that decides by being lost
inline constexpr std::string_view kPresent = "present"; // the store that decides by persisting
inline constexpr std::string_view kLast = "last";       // the latest store before power fails

// The note of a crash finding that is a warning: no state of it is legal without the fence that a
// locked instruction happens to be.
inline constexpr char kIncidentalLock[] = "relies on an incidental locked instruction";

// Of a finding's states that it lists itself; results.db has all.
inline constexpr std::size_t kMostStates = 8;

struct Place {
    std::string role;
    symbols::EventPlace at;
    std::string operation = {}; // of the workload, in which it was executed; empty: none known
};

struct Evidence {
    std::string oracle;
    std::string verdict;
    std::string title;
    std::string summary;
    std::string details; // JSON
};

// The same cause, seen by another oracle or with other words than the finding's own.
struct Symptom {
    std::string verdict;
    std::string oracle;
    std::string summary;
    std::string title;       // of the first image with it
    std::uint64_t count = 0; // images
};

// Another finding at the same site.
struct Related {
    std::string id;
    Kind kind = Kind::rule;
    std::string by; // its rule or oracle
};

struct Finding {
    std::string id = {};
    Kind kind = Kind::rule;
    Severity severity = Severity::bug;
    std::string title = {};              // what is wrong, of the event or image that shows it
    std::string summary = {};            // the same whenever the same thing is wrong
    std::string fix = {};                // what would have made it right; empty where nothing would
    std::string note = {};               // what makes it less than certain; empty = nothing
    std::uint64_t count = 0;             // of a rule: events; of a crash state: images
    std::vector<Place> places = {};      // the first is the one to look at
    std::vector<Evidence> evidence = {}; // what oracles said about the image that shows it
    std::vector<Related> related = {};
    bool known = false; // in the baseline

    // Of a rule.
    std::string rule = {};
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    bool has_event = true; // false: counted by the recorder, no event of it is in the trace
    std::vector<std::uint64_t> lines = {}; // the first few, ascending
    bool more_lines = false;
    std::optional<std::uint64_t> crash_seq = {}; // states at this crash point decide if it matters
    // A finding of states that is as grave: this one is evidence for it, and does not count. Empty:
    // it counts.
    std::string part_of = {};

    // Of a crash state or the workload.
    std::string verdict = {};
    std::string oracle = {};
    Decides decides = Decides::unknown;
    // All sites of stores that decide. With `order` at least one of the two has a place.
    std::vector<trace::SiteId> absent_sites = {};
    std::vector<trace::SiteId> present_sites = {};
    // Where in the code these are, each place once: a site is another one in each process.
    std::vector<symbols::CodePlace> deciding = {};
    // Their code, see site_name.h. If it is several, none of them has a place.
    std::vector<std::string> absent_code = {};
    std::vector<std::string> present_code = {};
    // Whom the code of `present` works for, or of `last` if no store decides; empty: several.
    std::string scope = {};
    // Functions for which the code that decides was at work, as far as tests said. Each of them may
    // be the one that is wrong. None: that code breaks its own order.
    std::vector<std::string> callers = {};
    // What it would be called if another of its images had come first.
    std::vector<std::string> other_ids = {};
    // What is lost had been flushed: it lacks a fence.
    bool unfenced = false;
    std::vector<Symptom> also = {};       // the most frequent first
    std::string state = {};               // id of the state that shows it
    std::uint64_t image = 0;              // its number in results.db
    std::uint64_t state_count = 0;        // that gave its images
    std::vector<std::string> states = {}; // the first few of them, see kMostStates
};

// The place with a role, or nullptr.
const Place *place_of(const Finding &finding, std::string_view role);
// Whether one of the findings has one of the severities, is not in the baseline and not part of
// another.
bool has_new(std::span<const Finding> findings, std::span<const Severity> severities = kBugs);

} // namespace fencepost::findings
