// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the crash states of a run: makes images, has workers judge them, keeps what they say.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/run/run_directory.h"
#include "replayer/states/state_walk.h"
#include "replayer/test/baseline.h"
#include "replayer/test/results.h"
#include "replayer/test/test_guest.h"

namespace fencepost::test {

struct TestOptions {
    states::WalkOptions walk;
    std::vector<std::string> own_modules = {}; // whose crash points come first, see crash_turns.h
    unsigned jobs = 1;
    std::uint64_t limit = UINT64_MAX; // images
    std::optional<std::chrono::seconds> duration = {};
    std::uint64_t bugs = UINT64_MAX;  // stops when there are so many findings of them
    std::set<std::string> known = {}; // ids of findings that do not count for `bugs`
    double confirm = 0.02;            // share of the passes that a fresh guest judges too
    std::string oracles = {}; // their names, sorted: verdicts of others are not mixed with theirs
    std::vector<Producer> producers = {}; // when one has changed, earlier verdicts do not count
    bool restart = false;                 // forget earlier verdicts
    bool always_fresh = false;            // a restored guest for every image
    // For each finding that is a bug, when the states are tested; 0: it is not minimized.
    std::chrono::seconds minimize{0};
    std::function<void(const std::string &line)> say = {}; // what takes a while
};

struct TestProgress {
    std::uint64_t tested = 0;   // images, in this session
    std::uint64_t findings = 0; // in all sessions
    std::uint64_t infra_errors = 0;
    double seconds = 0;
    std::optional<double> seconds_left = {};
};

enum class TestStop {
    end,
    limit,
    time,
    bugs,
    baseline,    // the initial image fails without a crash
    interrupted, // by a signal
};

struct TestReport {
    states::WalkReport walk;
    TestStop stop = TestStop::end;
    std::optional<run::ChosenPromise> promise = {}; // that was held against the file system
    // Of this session.
    std::uint64_t tested = 0;
    std::map<std::string, std::uint64_t> verdicts;
    std::map<std::string, std::uint64_t> not_tried; // images, by oracle, what and why
    std::uint64_t confirmed = 0;
    std::uint64_t known = 0; // states whose image had its verdict already
    double seconds = 0;
    double judge_seconds = 0;  // of all workers: in guests and oracles
    double guest_seconds = 0;  // of the judgements that count, among it: in requests to guests
    double oracle_seconds = 0; // likewise: in programs on the host
    double restore_seconds = 0;
    double patch_seconds = 0;
    std::uint64_t probes = 0; // images that were tested to find out what decides
    double probe_seconds = 0;
    WorkerCounts workers;
    std::uint64_t minimize_tests = 0; // images that were tested to minimize findings
    double minimize_seconds = 0;
    std::string started_anew; // what had changed since the earlier verdicts; empty: nothing
    // Of all sessions.
    Baseline baseline;
    std::uint64_t masked = 0; // images of which something was left out that the baseline has too
    std::map<std::string, std::uint64_t> all_verdicts;
    std::uint64_t disagreements = 0;
    std::vector<std::pair<std::string, std::uint64_t>>
        infra_reasons; // why images could not be judged, how many
    std::uint64_t states = 0;
    std::vector<Finding> findings;
    std::map<std::string, std::string> minimal; // when findings fail, by their ids

    // Crash images that fail, or images without a crash that do.
    bool found_bugs() const;
};

const char *to_string(TestStop stop);

// With the promise that the judge holds against the file system.
ResultsSubject subject_of(ResultsSubject subject, const oracle::Judge &judge);

// Removes all verdicts and findings of the run.
void forget_results(const run::RunFiles &run);

// Throws for trouble of the machine, and for a signal before anything is tested. What was judged
// until then is kept, and the next call goes on from there.
TestReport test_run(const run::RunFiles &run, const TestGuest &guest, oracle::Judge &judge,
                    const TestOptions &options,
                    const std::function<void(const TestProgress &)> &progress);

} // namespace fencepost::test
