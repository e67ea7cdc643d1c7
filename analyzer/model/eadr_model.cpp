// SPDX-License-Identifier: GPL-2.0-or-later
// See eadr_model.h.
#include "analyzer/model/eadr_model.h"

#include <algorithm>

namespace fencepost::model {

using trace::Event;
using trace::EventKind;

bool EadrModel::raises_guarantee(const Event &event) const
{
    return event.kind == EventKind::store ||
           (is_fence(event) && in_flight_.non_temporal_count(event.vcpu) != 0);
}

void EadrModel::do_apply(std::uint64_t seq, const Event &event, std::span<const std::byte> bytes)
{
    if (event.kind == EventKind::store) {
        cut(seq, event, bytes, [this](std::uint64_t line, const Piece &piece) {
            const std::uint32_t number = in_flight_.find(line);
            if (number != kNone)
                in_flight_.settle(number, {.units = static_cast<std::uint8_t>(1u << piece.unit())});
            in_flight_.pass(line, piece);
        });
    } else if (event.kind == EventKind::nt_store) {
        cut(seq, event, bytes, [&](std::uint64_t line, const Piece &piece) {
            in_flight_.add(line, piece);
            note_line(event.vcpu, line);
        });
    } else if (is_fence(event)) {
        fence(event.vcpu);
    }
}

void EadrModel::note_line(std::uint16_t vcpu, std::uint64_t line)
{
    if (vcpu >= pending_.size())
        pending_.resize(vcpu + 1u);
    std::vector<std::uint64_t> &lines = pending_[vcpu];
    if (!lines.empty() && lines.back() == line)
        return;
    lines.push_back(line);
    // Cached stores take lines out of flight without a fence: do not keep their entries for ever.
    if (lines.size() > 4096 && lines.size() > 4 * in_flight_.line_count()) {
        std::sort(lines.begin(), lines.end());
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        std::erase_if(lines, [this](std::uint64_t at) { return in_flight_.find(at) == kNone; });
    }
}

void EadrModel::fence(std::uint16_t vcpu)
{
    if (vcpu >= pending_.size())
        return;
    for (const std::uint64_t line : pending_[vcpu]) {
        const std::uint32_t number = in_flight_.find(line);
        if (number != kNone)
            in_flight_.settle(number, {.non_temporal_of = vcpu});
    }
    pending_[vcpu].clear();
}

} // namespace fencepost::model
