// SPDX-License-Identifier: GPL-2.0-or-later
// See crash_points.h.
#include "replayer/states/crash_points.h"

namespace fencepost::states {

using trace::Event;
using trace::EventKind;
using trace::MarkerKind;

bool may_change_promise(const Event &event)
{
    if (event.kind != EventKind::marker)
        return false;
    switch (event.marker_kind()) {
    case MarkerKind::op_begin:
    case MarkerKind::op_end:
    case MarkerKind::syscall_enter:
    case MarkerKind::syscall_exit:
    case MarkerKind::checkpoint:
        return true;
    default:
        return false;
    }
}

bool changes_promise(std::uint64_t seq, const Event &event, const PromiseAt &promise)
{
    return may_change_promise(event) && (!promise || promise(seq) != promise(seq + 1));
}

bool ends_operation(const Event &event)
{
    return event.kind == EventKind::marker && (event.marker_kind() == MarkerKind::op_end ||
                                               event.marker_kind() == MarkerKind::syscall_exit);
}

std::optional<CrashPoint> CrashPoints::before(std::uint64_t seq, const Event &event)
{
    const bool inside = window_.contains(seq, epoch_);
    const bool turn = in_turn(seq);
    past_turn_ = turn_ && (turn_->empty() || seq >= turn_->back().last_seq);
    CrashPoint point = {.seq = seq, .epoch = epoch_, .since = since_};
    point.boundary = model_.raises_guarantee(event);
    point.promise = model_.in_flight().piece_count() != 0 && changes_promise(seq, event, promise_);
    point.failure_point = wanted_.failure_points && failure_points_.see(event, inside, turn);
    point.returned = returned_;
    returned_ = wanted_.returns && ends_operation(event);
    epoch_ += point.boundary;
    since_ = point.boundary ? seq : since_;
    if (!inside || !turn || !(point.has_states() || point.failure_point || point.returned))
        return std::nullopt;
    return point;
}

std::optional<CrashPoint> CrashPoints::at_end(std::uint64_t seq) const
{
    if (!window_.contains(seq, epoch_) || !in_turn(seq))
        return std::nullopt;
    return CrashPoint{
        .seq = seq, .epoch = epoch_, .since = since_, .boundary = true, .returned = returned_};
}

} // namespace fencepost::states
