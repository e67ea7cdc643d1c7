// SPDX-License-Identifier: GPL-2.0-or-later
// Distinct failure points, as Mumak defines them: code paths to a flush or fence.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "analyzer/model/persistence_model.h"
#include "trace/event.h"

namespace fencepost::states {

// A failure point is a flush or a fence that counts, reached by a call stack that has not led to
// it before, with a store to PM since the flush or fence before it. Stacks in a trace are the
// leaves of a tree already, so (site, stack) names a path. Grows with the code, not with the trace.
class FailurePoints {
public:
    explicit FailurePoints(model::FenceRule rule) : rule_(rule) {}

    // Before each event; true when it is a failure point. One that is not `inside` the window is
    // none, and does not keep the next one on its path from being one. One of another `turn` does.
    bool see(const trace::Event &event, bool inside, bool turn)
    {
        if (event.is_store()) [[likely]] {
            stored_ = true;
            return false;
        }
        const bool persists =
            event.kind == trace::EventKind::flush ||
            (event.kind == trace::EventKind::fence && counts_as_fence(event.fence_kind(), rule_));
        if (!persists || !stored_)
            return false;
        stored_ = false;
        if (!inside || !seen_.insert(std::uint64_t{event.site} << 32 | event.stack).second)
            return false;
        count_ += turn;
        return turn;
    }

    std::size_t count() const { return count_; } // in this turn

private:
    model::FenceRule rule_;
    bool stored_ = false;
    std::size_t count_ = 0;
    std::unordered_set<std::uint64_t> seen_;
};

} // namespace fencepost::states
