// SPDX-License-Identifier: GPL-2.0-or-later
// A worker: a warm guest that is given one crash image after the other, and a fresh one where a
// verdict is to be confirmed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "replayer/guest/template_store.h"
#include "replayer/oracle/judge.h"
#include "replayer/test/pool/deciding_stores.h"
#include "replayer/test/pool/hang_watch.h"
#include "replayer/test/pool/pm_files.h"

namespace fencepost::test {

// What all workers of a pool share.
struct WorkerPlan {
    guest::TemplateStore &templates;
    const guest::Template &source;
    const image::InitialImage &initial;
    oracle::Judge &judge;
    std::filesystem::path directory; // for PM files, one directory a worker below it
    // A new guest for every image, and nothing confirmed: what warm guests are measured against.
    bool always_fresh = false;
    // Shared by all that work by this plan or a copy of it: what one learns, the others know.
    std::shared_ptr<HangWatch> hangs = std::make_shared<HangWatch>();
};

// One image to be tested.
struct Assignment {
    std::uint64_t image = 0; // the caller's number for it
    states::CrashState state = {};
    image::CrashImage content;
    image::StateStores stores = {}; // without them a failure cannot be explained
    bool confirm_pass = false;
    bool crashed = true;    // see oracle::Subject
    bool keep_tree = false; // likewise
};

struct Outcome {
    std::uint64_t image = 0;
    oracle::Judgement judgement;
    bool confirmed = false;  // another guest was asked: a fresh one, or that of a second attempt
    bool disagreed = false;  // and said another thing: an infra_error
    bool repeats = true;     // a failure: it was the same thing that was wrong
    bool known_hang = false; // hangs as another image did for the whole limit: not waited for again
    unsigned lost_guests = 0;
    double judge_seconds = 0;              // in guests and oracles, all attempts and confirmations
    double restore_seconds = 0;            // for lost and fresh guests
    double patch_seconds = 0;              // PM given and taken back
    std::optional<Assignment> failed = {}; // of a failure: what was tested, if it has its stores
};

// A failure of which the stores that decide are to be found, by testing states like it.
struct Question {
    Assignment failed; // with its stores
    oracle::Evidence failure;
    std::vector<Neighbour> passes = {}; // states of its crash point that do
    Deadline deadline = Deadline::never();
};

// One of those states.
struct Probe {
    states::CrashState state;
    oracle::Verdict verdict = oracle::Verdict::infra_error;
    bool alike = false; // it fails as the image does
    double seconds = 0;
};

struct Answer {
    std::uint64_t image = 0;
    std::optional<DecidingStores> decided = {}; // nothing: it could not be found out
    bool gave_up = false;                       // there was no time for it
    std::vector<Probe> probes = {};
};

struct WorkerCounts {
    std::uint64_t restores = 0;
    std::uint64_t lost_guests = 0;
    // Thrown away though they answered: a mount had failed, or their kernel had complained.
    std::uint64_t discarded_guests = 0;
    std::uint64_t audits = 0;
    std::uint64_t failed_audits = 0;
    PmFileCounts pm;
};

class Worker {
public:
    // `first`: where the image stream starts.
    Worker(const WorkerPlan &plan, unsigned number, std::shared_ptr<const image::ImageStep> first);
    ~Worker();

    // Throws for trouble of the machine and for interrupts; everything else is an outcome. Best in
    // the order in which the images were taken.
    Outcome test(const Assignment &assignment);
    // One look in the warm guest, which says the least: nothing is confirmed. Throws as test()
    // does.
    oracle::Judgement look(const Assignment &assignment);
    // Throws nothing but our own mistakes: the image has its verdict. `may_go_on` is asked before
    // each probe, besides the deadline.
    Answer explain(const Question &question, const std::function<bool()> &may_go_on);
    // Whether PM holds what it should between two images. If not, what was tested since the last
    // audit proves nothing.
    bool audit();

    const WorkerCounts &counts();

private:
    // A guest and the PM files that are its own.
    struct Slot {
        std::unique_ptr<PmFiles> files;
        std::unique_ptr<guest::Guest> guest;
    };

    void ensure_guest(Slot &slot, Outcome &outcome);
    void drop_guest(Slot &slot);
    enum class Limit { brief, full };
    // What one guest said, or the loss of it.
    struct Attempt {
        oracle::Judgement said;
        bool lost = false;
        std::optional<std::chrono::milliseconds> patience; // that it was given; nothing: the limit
    };
    Attempt attempt(Slot &slot, const Assignment &assignment, Outcome &outcome, Limit limit);
    Attempt attempt_warm(const Assignment &assignment, Outcome &outcome, Limit limit);
    oracle::Judgement settle_hang(const Assignment &assignment, Outcome &outcome, Attempt first);
    oracle::Judgement judge_warm(const Assignment &assignment, Outcome &outcome);
    oracle::Judgement judge_fresh(const Assignment &assignment, Outcome &outcome);
    void show(const image::CrashImage &image);
    oracle::Judgement look_at_shown(const Assignment &assignment);
    oracle::Judgement judge_neighbour(const Assignment &assignment, const Neighbour &neighbour);

    const WorkerPlan &plan_;
    std::filesystem::path directory_;
    image::HeldImage held_;
    Slot warm_;
    Slot fresh_;
    bool trusts_touched_ = true;
    bool track_was_lost_ = false; // of what guests touched, since the last audit
    WorkerCounts counts_;
};

} // namespace fencepost::test
