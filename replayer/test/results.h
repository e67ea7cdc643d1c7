// SPDX-License-Identifier: GPL-2.0-or-later
// RUN/results.db: every image once, its origins, its verdict, and the findings. results.sql says
// what each column is.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/finding.h"
#include "replayer/image/image_index.h"
#include "replayer/test/baseline.h"
#include "replayer/test/pool/worker.h"
#include "replayer/test/provenance.h"
#include "trace/database.h"

namespace fencepost::test {

using findings::Finding;

struct ResultsSubject {
    std::string trace;   // event digest
    std::string oracles; // joined by commas
    std::vector<Producer> producers = {};
};

struct SessionStart {
    std::string strategy;
    std::string model;
    std::string fences;
    std::uint64_t seed = 1;
    unsigned jobs = 1;
    std::string guest;
};

struct SessionEnd {
    std::string stop;
    double seconds = 0;
    std::uint64_t generated = 0;
    std::uint64_t tested = 0;
};

// Of results that are there: one that is about another trace or other oracles is an Error(usage).
// Looks at `trace` and `oracles` only; nothing is changed but for a journal that is rolled back.
void check_results(const std::filesystem::path &path, const ResultsSubject &subject);
// Of the table with that name; empty: there is none.
std::string about(trace::Database &database, std::string_view name);
// What has changed since the results that are there were made: words of the first such producer, or
// nothing.
std::string changed_since(const std::filesystem::path &path, const ResultsSubject &subject);
// To be read only, also while a test goes on. `trace`: event digest; results about another one are
// an Error(usage).
trace::Database open_results(const std::filesystem::path &path, const std::string &trace);

// For one thread. Everything is in one transaction until commit().
class Results {
public:
    // Made if it is not there. One that is about another trace or other oracles is an Error(usage).
    Results(const std::filesystem::path &path, const ResultsSubject &subject);

    void begin_session(const SessionStart &start);
    void end_session(const SessionEnd &end);

    // Nothing: not judged yet.
    std::optional<Baseline> baseline();
    void put_baseline(const Baseline &baseline);

    struct Seen {
        std::uint64_t image = 0;
        bool untested = false; // no verdict, or an infra_error of an earlier session
    };
    Seen see(const image::Hash128 &identity, std::uint64_t expectation,
             const image::ImageIndex::Origin &origin);

    // `finding`: empty for a pass and an infra_error.
    void put_outcome(const Outcome &outcome, std::string_view finding);
    // The states that were tested to explain an image.
    void put_probes(const Answer &answer);
    // A new one, or one that this image is the first to explain.
    void put_finding(const Finding &finding);
    // One without images; does nothing if it is known.
    void put_workload_finding(const Finding &finding);
    // One more image of a known one, which may leave less that decides.
    void add_to_finding(const Finding &finding);
    void commit();

    // Of all sessions.
    std::map<std::string, std::uint64_t> verdicts();
    // In the order of their first images. Places have their events, and no names of code.
    std::vector<Finding> findings();
    std::set<std::string> bugs(); // ids of the findings that are bugs
    std::uint64_t disagreements();
    std::uint64_t masked(); // images of which something was left out
    // Why images could not be judged, with how many they are, the most first.
    std::vector<std::pair<std::string, std::uint64_t>> infra_reasons();
    std::uint64_t states();

private:
    void prepare(const ResultsSubject &subject);

    trace::Database database_;
    std::optional<image::ImageIndex> index_;
    std::optional<trace::Statement> known_verdict_;
    std::optional<trace::Statement> verdict_;
    std::optional<trace::Statement> evidence_;
    std::int64_t session_ = 0;
};

} // namespace fencepost::test
