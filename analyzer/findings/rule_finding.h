// SPDX-License-Identifier: GPL-2.0-or-later
// What a detection rule found, with everything that a person or another program needs to act on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/code_place.h"

namespace fencepost::findings {

enum class Severity : std::uint8_t { bug, warning, performance };
inline constexpr Severity kSeverities[] = {Severity::bug, Severity::warning, Severity::performance};

std::string_view name_of(Severity severity);
std::optional<Severity> severity_named(std::string_view name);

using symbols::CodePlace;
using symbols::EventPlace;

struct RuleFinding {
    std::string id; // stable: of rule and names, not of addresses or events
    std::string rule;
    Severity severity = Severity::bug;
    std::string message;
    std::string fix;  // what would have made it right; empty where nothing would
    std::string note; // what makes it less than certain; empty = nothing
    std::uint64_t count = 0;
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    bool has_event = true; // false: counted by the recorder, no event of it is in the trace
    std::vector<std::uint64_t> lines; // the first few, ascending
    bool more_lines = false;
    EventPlace place;
    std::string other_role; // for example "earlier flush"; empty = there is no other event
    std::optional<EventPlace> other;
    std::optional<std::uint64_t> crash_seq; // states at this crash point decide whether it matters
    bool known = false;                     // in the baseline
};

// What a report says besides its findings.
struct RuleSummary {
    std::string trace;
    std::uint64_t events = 0;
    std::string model;
    std::string fences;
    std::string persistency;
    std::vector<std::string> rules;      // that ran
    std::vector<std::string> statements; // about the trace, one sentence each
    std::uint64_t suppressed = 0;        // findings
    std::uint64_t known_code = 0;        // findings in code of others that are right as they are
    bool complete = true; // false: the recording did not end, so nothing is said about its end
};

struct RuleReport {
    RuleSummary summary;
    std::vector<RuleFinding> findings; // by severity, then by first event
};

struct RuleDescription {
    std::string name;
    std::string sentence;
    std::string certainty;
    Severity severity = Severity::bug;
};

} // namespace fencepost::findings
