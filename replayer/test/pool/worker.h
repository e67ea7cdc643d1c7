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

#include "replayer/guest/template_store.h"
#include "replayer/oracle/judge.h"
#include "replayer/test/pool/deciding_stores.h"
#include "replayer/test/pool/hang_watch.h"
#include "replayer/test/pool/pm_files.h"

namespace fencepost::test {

// Why an image fails, as far as it is known.
struct Explanation {
    // The first store of each site that was in flight, and is missing in the image or there.
    std::vector<image::InFlightStore> missing = {};
    std::vector<image::InFlightStore> present = {};
    // What tests of images like it say; nothing: there were none, or they do not say.
    std::optional<DecidingStores> decided = {};
    std::string like = {};     // what WorkerPlan::explained_by said
    bool could_not_be = false; // there were tests, and they do not say
};

// What all workers of a pool share.
struct WorkerPlan {
    guest::TemplateStore &templates;
    const guest::Template &source;
    const image::InitialImage &initial;
    oracle::Judge &judge;
    std::filesystem::path directory; // for PM files, one directory a worker below it
    // A new guest for every image, and nothing confirmed: what warm guests are measured against.
    bool always_fresh = false;
    // The name of failures that this one is like, so that it needs no tests to be explained; empty:
    // none. Called by all workers at once, as is the next.
    std::function<std::string(const oracle::Evidence &, const Explanation &)> explained_by = {};
    // Whether there is still time for such tests.
    std::function<bool()> may_probe = {};
    // Shared by all that work by this plan or a copy of it: what one learns, the others know.
    std::shared_ptr<HangWatch> hangs = std::make_shared<HangWatch>();
};

// One image to be tested.
struct Assignment {
    std::uint64_t image = 0; // the caller's number for it
    image::CrashImage content;
    image::StateStores stores = {}; // without them a failure is not explained
    std::uint64_t crash_seq = 0;
    bool confirm_pass = false;
    bool crashed = true; // see oracle::Subject
};

struct Outcome {
    std::uint64_t image = 0;
    oracle::Judgement judgement;
    bool confirmed = false;  // another guest was asked: a fresh one, or that of a second attempt
    bool disagreed = false;  // and said another thing: an infra_error
    bool repeats = true;     // a failure: it was the same thing that was wrong
    bool known_hang = false; // hangs as another image did for the whole limit: not waited for again
    unsigned lost_guests = 0;
    Explanation explanation = {}; // of a failure
    unsigned probes = 0;          // images that were tested to find it
    double probe_seconds = 0;     // that took; not part of the others
    double judge_seconds = 0;     // in guests and oracles, all attempts and confirmations
    double restore_seconds = 0;   // for lost and fresh guests
    double patch_seconds = 0;     // PM given and taken back
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

    // Assignments in the order in which their images were taken. Throws for trouble of the machine
    // and for interrupts; everything else is an outcome.
    Outcome test(const Assignment &assignment);
    // Whether PM holds what it should between two images. If not, what was tested since the last
    // audit proves nothing.
    bool audit();

    const WorkerCounts &counts();

private:
    // A guest and the PM files that are its own.
    struct Seat {
        std::unique_ptr<PmFiles> files;
        std::unique_ptr<guest::Guest> guest;
    };

    void sit(Seat &seat, Outcome &outcome);
    void leave(Seat &seat);
    enum class Limit { brief, full };
    // What one guest said, or the loss of it.
    struct Attempt {
        oracle::Judgement said;
        bool lost = false;
        std::optional<std::chrono::milliseconds> patience; // that it was given; nothing: the limit
    };
    Attempt attempt(Seat &seat, const Assignment &assignment, Outcome &outcome, Limit limit);
    Attempt attempt_warm(const Assignment &assignment, Outcome &outcome, Limit limit);
    oracle::Judgement settle_hang(const Assignment &assignment, Outcome &outcome, Attempt first);
    oracle::Judgement judge_warm(const Assignment &assignment, Outcome &outcome);
    oracle::Judgement judge_fresh(const Assignment &assignment, Outcome &outcome);
    Outcome judge_image(const Assignment &assignment);
    void show(const image::CrashImage &image);
    void explain(const Assignment &assignment, Outcome &outcome);
    std::optional<bool> fails_alike(const Assignment &assignment, const oracle::Evidence &failure,
                                    const image::PartChoice &parts);

    const WorkerPlan &plan_;
    std::filesystem::path directory_;
    image::HeldImage held_;
    Seat warm_;
    Seat fresh_;
    bool trusts_touched_ = true;
    bool track_was_lost_ = false; // of what guests touched, since the last audit
    WorkerCounts counts_;
};

} // namespace fencepost::test
