// SPDX-License-Identifier: GPL-2.0-or-later
// The events before which power fails: where states are looked at so that no pair of image and
// promise is lost (docs/explanation/persistence-model.md has the theorem).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/failure_points.h"
#include "replayer/states/window.h"

namespace fencepost::states {

// Power fails before event `seq` is executed.
struct CrashPoint {
    std::uint64_t seq = 0;
    std::uint64_t epoch = 0;    // how many epochs ended before
    std::uint64_t since = 0;    // its first event
    bool boundary = false;      // the event ends an epoch, or the trace or window ends here
    bool promise = false;       // the event changes what is promised while stores are in flight
    bool failure_point = false; // see FailurePoints; only when `prefix` asks
    bool returned = false;      // the event before it ends an operation; only when `returns` asks

    // All strategies look here.
    bool has_states() const { return boundary || promise; }
};

// What the workload has promised when power fails before event `seq`. Equal numbers: the same
// promise. It changes only with events for which may_change_promise() is true.
using PromiseAt = std::function<std::uint64_t(std::uint64_t seq)>;

// Operations and system calls begin and return; a program comes by a checkpoint.
bool may_change_promise(const trace::Event &event);
// Without `promise` every such event changes it.
bool changes_promise(std::uint64_t seq, const trace::Event &event, const PromiseAt &promise);
// An operation or a system call has returned.
bool ends_operation(const trace::Event &event);

class CrashPoints {
public:
    struct Wanted {
        bool failure_points = false;
        bool returns = false;
    };

    // `model` is borrowed, and is one event behind.
    // `turn`: those outside of it come in another walk; nothing: all at once.
    CrashPoints(const model::PersistenceModel &model, const Window &window,
                std::optional<std::vector<Span>> turn, PromiseAt promise, Wanted wanted)
        : model_(model), window_(window), turn_(std::move(turn)), promise_(std::move(promise)),
          wanted_(wanted), failure_points_(model.fence_rule())
    {
    }

    // Before each event is applied to the model: the crash point before it, if there is one.
    std::optional<CrashPoint> before(std::uint64_t seq, const trace::Event &event);
    // After all events.
    std::optional<CrashPoint> at_end(std::uint64_t seq) const;
    // No crash point can follow.
    bool past_last() const { return epoch_ > window_.last_epoch || past_turn_; }

    std::uint64_t epoch() const { return epoch_; }
    std::size_t failure_points() const { return failure_points_.count(); }

private:
    bool in_turn(std::uint64_t seq) const { return !turn_ || contains(*turn_, seq); }

    const model::PersistenceModel &model_;
    const Window window_;
    const std::optional<std::vector<Span>> turn_;
    const PromiseAt promise_;
    const Wanted wanted_;
    FailurePoints failure_points_;
    std::uint64_t epoch_ = 0;
    std::uint64_t since_ = 0;
    bool returned_ = false;
    bool past_turn_ = false;
};

} // namespace fencepost::states
