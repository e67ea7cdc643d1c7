// SPDX-License-Identifier: GPL-2.0-or-later
// Failing images on their way to a finding. Where no known finding has a failure already, workers
// are asked which stores decide it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/symbols/code_names.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/grouping.h"
#include "replayer/test/operations.h"
#include "replayer/test/pool/worker_pool.h"
#include "replayer/test/results.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::test {

// A failing image.
struct Failure {
    Outcome outcome;
    std::string state; // its first origin
    bool architectural = true;
    trace::EventRef last_store; // before the power failure
};

// An image that passed: a way in where another at its crash point fails.
struct PassingState {
    states::Choice choice = {};
    image::StateStores stores = {};
};

// For the thread that writes the results. Failures become part of findings in the order in which
// their images were submitted, whichever worker is done first: the same test has the same findings.
// Of failures with the same evidence one at a time is asked about.
class Triage {
public:
    // Where findings go, and what names their code.
    struct Desk {
        const run::RunFiles &run;
        const trace::TraceReader &reader;
        const trace::IncidentalFences &incidental; // of the walk
        Results &results;
    };

    // `pool` and `hangs`: of the test. Nothing is asked after `deadline`.
    Triage(const Desk &desk, WorkerPool &pool, const HangWatch &hangs, Deadline deadline);

    // Every image that is tested, in the order of the walk, with its crash point; what came out
    // follows.
    void expect(std::uint64_t image, std::uint64_t seq);
    void pass(std::uint64_t image, PassingState state);
    void refuse(std::uint64_t image); // what came out is no verdict
    void add(Failure failure);
    void take(Answer answer);
    // From now on a failure that nobody was asked about yet is part of a finding as far as it is
    // known.
    void ask_no_more() { may_ask_ = false; }
    // So is everything that is open; nobody waits for answers.
    void stop_asking();

    // Not yet part of a finding.
    bool is_open(std::uint64_t image) const { return open_.contains(image); }
    std::size_t open() const { return open_.size(); }
    std::size_t findings() const { return findings_; }
    // Ids of those that are bugs, as far as known; others may say more.
    std::set<std::string> &bugs() { return bugs_; }
    const std::set<std::string> &bugs() const { return bugs_; }

private:
    struct Case {
        Failure failure;
        Explanation explanation;
    };
    // An image's place in the order.
    struct Turn {
        std::uint64_t image = 0;
        std::uint64_t seq = 0; // its crash point
        bool judged = false;
        bool asked = false;
        std::optional<Case> failed = {};
        std::optional<Answer> answer = {};
    };

    bool may_ask(const Failure &failure) const;
    std::uint64_t number_of(std::uint64_t image) const;
    Turn &turn_of(std::uint64_t image);
    bool passes_are_known(std::uint64_t image);
    std::vector<Neighbour> passes_before(const Turn &turn) const;
    void ask(Turn &turn);
    void advance();
    bool finish(Turn &turn);
    void explain(Case &answered, const Answer &answer);
    std::vector<StoreInFlight> in_flight(const image::StateStores &state, bool present);
    const StoreCode &code_of(const trace::EventRef &store);
    void name_code(Case &answered);
    void file(const Case &filed);
    std::string file_finding(const Case &filed);

    const Desk desk_;
    WorkerPool &pool_;
    const HangWatch &hangs_;
    const Deadline deadline_;
    symbols::CodeNames names_;
    const Operations operations_;
    std::map<std::tuple<trace::SiteId, trace::StackId, std::string>, StoreCode> code_;
    Grouping grouping_;
    std::deque<Turn> turns_;                                   // that have not come
    std::uint64_t turns_before_ = 0;                           // that have
    std::unordered_map<std::uint64_t, std::uint64_t> numbers_; // of the turns, by image
    // Some of each crash point whose images are on their way, by their numbers.
    std::map<std::uint64_t, std::map<std::uint64_t, PassingState>> passes_;
    std::set<std::string> asked_; // kinds of evidence, at the moment
    std::set<std::uint64_t> open_;
    std::size_t findings_ = 0;
    std::set<std::string> bugs_;
    bool may_ask_ = true;
    bool stopped_ = false;
};

} // namespace fencepost::test
