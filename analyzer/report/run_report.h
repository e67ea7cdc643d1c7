// SPDX-License-Identifier: GPL-2.0-or-later
// All that a run's report says, as plain values: what the formats in this folder render. Texts come
// from a guest; who shows them makes them safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/report/timeline.h"

namespace fencepost::report {

// A finding with what its reader wants to see.
struct ShownFinding {
    findings::Finding finding;
    std::optional<Timeline> timeline = {}; // of the state that shows it, or of a rule's first event
    std::string no_timeline = {};          // why there is none
    std::string not_annotated = {};        // why nobody said what its places in PM belong to
    std::string operation = {};            // during which power failed
    std::string kernel_log = {};           // of the image that shows it, its end
    std::string minimal = {};              // minimal.json; empty: not minimized
    std::vector<std::string> files = {};   // below findings/ID
    std::string folder = {};               // RUN/findings/ID; empty: of a rule
    std::vector<std::string> next = {};    // commands
};

struct Session {
    std::string started;
    std::string strategy;
    std::string model;
    std::string fences;
    std::uint64_t seed = 0;
    std::uint64_t jobs = 0;
    std::string guest;
    std::string stop; // empty: killed, or it goes on
    std::optional<double> seconds = {};
    std::uint64_t generated = 0;
    std::uint64_t tested = 0;
};

// What an oracle objects to in an image without a crash.
struct HealthyObjection {
    std::string image;
    std::string oracle;
    std::string verdict;
    std::string summary;
    bool masked = false;
};

struct TestOutcome {
    bool tested = false;  // there are results
    bool running = false; // somebody records or tests the run now
    std::string oracles;  // as they were asked for; empty: the default ones
    std::vector<Session> sessions = {};
    std::map<std::string, std::uint64_t> verdicts = {}; // images
    std::uint64_t images = 0;
    std::uint64_t without_verdict = 0;
    std::uint64_t states = 0;
    std::uint64_t confirmed = 0;
    std::uint64_t disagreed = 0;
    std::uint64_t masked = 0;
    std::vector<std::pair<std::string, std::uint64_t>> infra_reasons = {};
    std::vector<std::string> healthy_images = {};
    std::string healthy_missing = {}; // why there is no final one
    std::vector<HealthyObjection> healthy = {};
    std::vector<std::string> left_out = {}; // why an oracle judged no crash image, for each
};

struct Epoch {
    std::uint64_t number = 0;
    std::uint64_t first_seq = 0;
    std::uint64_t end_seq = 0; // the event that ends it; it is of the next one
    std::uint64_t stores = 0;
    std::uint64_t flushes = 0;
    std::uint64_t fences = 0;
    std::uint64_t lines = 0; // in flight at its end
    std::optional<std::uint64_t> legal = {};
    double legal_log2 = 0;
    std::uint64_t tested = 0; // states at its crash points
    std::uint64_t failing = 0;
    std::int64_t operation = -1; // RunReport::operations; -1: none
    std::int64_t picture = -1;   // RunReport::pictures; -1: left out
};

struct Operation {
    std::int64_t number = 0;
    std::string text;
    std::uint64_t first_seq = 0;
    std::optional<std::uint64_t> last_seq = {};
    std::uint64_t tested = 0; // states of crash points in it
    std::uint64_t failing = 0;
};

struct FunctionActivity {
    std::string function;
    std::string module;
    std::uint64_t stores = 0;
    std::uint64_t flushes = 0;
    std::uint64_t fences = 0;
    std::uint64_t volatile_flushes = 0;
};

// How much of a kernel module the recording has seen: in call stacks of events, or causing them.
struct ModuleCoverage {
    std::string module;
    std::uint64_t functions = 0;
    std::uint64_t seen = 0;
    std::vector<std::string> unseen = {}; // in order of name
};

struct QualityCounter {
    std::string name;
    std::int64_t value = 0;
    std::string severity;
    std::string meaning;
};

struct RunReport {
    std::string name;    // of the run's directory
    std::string run;     // as the user named it, for commands
    std::string version; // of fencepost
    std::string outcome; // of the workload
    std::string recording_state;
    std::string not_finished; // how the workload ended instead; empty: it finished
    std::string not_reached;  // what of the workload never was in PM; empty: it was
    std::uint64_t events = 0;
    std::map<std::string, std::uint64_t> event_kinds = {};
    std::vector<std::pair<std::string, std::string>> meta = {};
    std::string spec;
    std::string promise; // what is held against the file system; empty: nothing
    std::string promise_source;
    bool rules_ran = true;
    findings::RuleSummary rules = {};
    std::vector<findings::RuleDescription> catalog = {};
    std::vector<ShownFinding> findings = {}; // bugs first, and of these crash states first
    TestOutcome test = {};
    // Of the epochs' walk.
    std::string model;
    std::string fences;
    std::string no_epochs; // why there are none
    std::vector<Epoch> epochs = {};
    std::vector<std::string> pictures = {}; // JSON, see epoch_pictures.h
    std::uint64_t pictures_left_out = 0;
    std::vector<std::string> sites = {}; // that pictures name
    std::optional<std::uint64_t> legal = {};
    double legal_log2 = 0;
    std::uint64_t crash_points = 0;
    std::uint64_t failure_points = 0;
    std::vector<Operation> operations = {};
    std::vector<FunctionActivity> functions = {}; // most stores first
    std::vector<ModuleCoverage> modules = {};
    std::uint64_t code_sites = 0;
    std::uint64_t named_code_sites = 0;
    std::vector<QualityCounter> quality = {};
    std::vector<std::string> warnings = {};
};

// What was tested, for people; the first line says so if nothing was.
std::vector<std::string> outcome_lines(const TestOutcome &outcome);
// Findings by severity, without those that are part of another.
std::array<std::uint64_t, std::size(findings::kSeverities)> counts_of(const RunReport &report);
// Something that must hold before silence is a pass. The names are the same in every run.
struct PassCondition {
    std::string name;
    std::string why_not; // empty: it holds
};
std::vector<PassCondition> pass_conditions(const RunReport &report);
// Why a run in which nothing was found is no pass; empty: it is one.
std::string why_no_pass(const RunReport &report);
// "2 bugs, 1 warning"; "nothing found"; without bugs, "not a pass: why".
std::string headline(const RunReport &report);
// What a reader must know before they take silence for health, one sentence each.
std::vector<std::string> caveats(const RunReport &report);

} // namespace fencepost::report
