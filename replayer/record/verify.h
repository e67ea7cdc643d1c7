// SPDX-License-Identifier: GPL-2.0-or-later
// How far a run can be trusted: is it complete, does it repeat, what do its counters say.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replayer/record/recorder.h"
#include "replayer/run/run_directory.h"
#include "trace/records.h"

namespace fencepost::record {

enum class Completeness {
    complete,
    incomplete,
    unknown, // the recording did not end, so there is no final image to compare with
};

struct Repetition {
    bool same_events = false;  // with sites and stacks
    bool same_effects = false; // without
    bool same_final_pm = false;
    std::uint64_t event_count = 0;
    std::string outcome;
    std::string first_difference; // in words; empty: none

    bool identical() const { return same_events && same_effects && same_final_pm; }
};

struct VerifyReport {
    trace::Recording recording;
    Completeness completeness = Completeness::unknown;
    std::uint64_t differing_lines = 0;
    std::vector<std::string> differences;     // the first ones, in words
    std::vector<trace::DataQuality> counters; // all of them
    std::vector<std::string> changed;         // what is not as it was at the recording, in words
    std::vector<Repetition> repetitions;

    bool counters_good() const;
    bool deterministic() const;
    bool good() const;
};

// Reads only, and all of the trace: damage anywhere in it is Error(trace).
VerifyReport verify_trace(const run::RunFiles &files);
// The same, and records again `times` times and compares, where the recording is complete. One that
// the host's time limit stopped is not recorded again: `progress` says why.
VerifyReport verify_run(const run::RunFiles &files, const std::filesystem::path &cache,
                        unsigned times,
                        const std::function<void(const std::string &line)> &progress);
// An Error(trace) or Error(guest) that says why a report is not good.
void require_good(const VerifyReport &report);

// The first event that is not the same in both, in words; empty: none. Where one is a beginning of
// the other, the words are "the same N events, then one ends".
std::string first_difference(const trace::TraceReader &a, const trace::TraceReader &b);

const char *to_string(Completeness completeness);

} // namespace fencepost::record
