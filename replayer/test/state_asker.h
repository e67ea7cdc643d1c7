// SPDX-License-Identifier: GPL-2.0-or-later
// Asks a warm guest about states that a search chooses, or results.db where it knows them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "base/deadline.h"
#include "replayer/image/image_stream.h"
#include "replayer/image/open_point.h"
#include "replayer/test/known_verdicts.h"
#include "replayer/test/minimize_search.h"
#include "replayer/test/pool/worker.h"

namespace fencepost::test {

struct AskedState {
    std::string state; // its id
    oracle::Verdict verdict = oracle::Verdict::infra_error;
    Said said = Said::other;
    double seconds = 0;
};

class StateAsker {
public:
    // `known`: nothing is asked that it knows.
    StateAsker(const WorkerPlan &plan, KnownVerdicts &known);

    struct Limits {
        std::uint64_t tests = UINT64_MAX;
        Deadline deadline = Deadline::never();
    };
    // What fails as this one does fails alike. Forgets what was asked before.
    void begin(const findings::Finding &finding, const Limits &limits);
    // Before states of that point are asked about.
    void enter(image::OpenPoint &point);

    // Nothing: a limit was met, or somebody wants an end.
    std::optional<Said> ask(image::OpenPoint &point, const states::Levels &levels);
    // Whether a warm and a freshly restored guest both say so, whatever the limits are. False too
    // where nobody could be asked.
    bool confirm(image::OpenPoint &point, const states::Levels &levels, Said said);
    // Of the states at this crash point that are known to have passed.
    std::vector<states::Levels> known_passes(image::OpenPoint &point);

    const std::vector<AskedState> &asked() const { return asked_; } // in guests
    std::uint64_t known() const { return from_results_; }
    double seconds() const { return watch_.seconds(); }
    bool interrupted() const { return interrupted_; }

private:
    Assignment assignment(image::OpenPoint &point, const states::Levels &levels) const;
    bool is_alike(const oracle::Evidence &evidence) const;
    Said said_of(const oracle::Judgement &judgement) const;
    std::optional<Said> known_answer(image::OpenPoint &point, const states::Levels &levels);
    bool may_ask() const;
    template <typename Work> void guarded(Work &&work);

    const oracle::Judge &judge_;
    KnownVerdicts &known_;
    std::shared_ptr<const image::ImageStep> step_; // the guaranteed image of the latest point
    std::vector<std::uint64_t> changed_;           // lines in which that differs from the initial
    Worker worker_;
    std::string finding_;
    std::vector<oracle::Evidence> failures_ = {}; // all that the finding is seen as
    Limits limits_;
    std::vector<AskedState> asked_;
    std::uint64_t from_results_ = 0;
    bool interrupted_ = false;
    Stopwatch watch_;
};

} // namespace fencepost::test
