// SPDX-License-Identifier: GPL-2.0-or-later
// See operations.h.
#include "replayer/test/operations.h"

#include <algorithm>

namespace fencepost::test {

Operations::Operations(const trace::TraceReader &reader)
{
    changes_.push_back({0, ""});
    reader.for_each_marker([this](const trace::MarkerRow &row) {
        if (row.kind == trace::MarkerKind::op_begin)
            changes_.push_back({row.seq, row.marker.text});
        else if (row.kind == trace::MarkerKind::op_end)
            changes_.push_back({row.seq, ""});
    });
}

std::vector<Operations::Change>::const_iterator Operations::change_at(std::uint64_t seq) const
{
    return std::upper_bound(
               changes_.begin() + 1, changes_.end(), seq,
               [](std::uint64_t wanted, const Change &each) { return wanted < each.seq; }) -
           1;
}

const std::string &Operations::at(std::uint64_t seq) const
{
    return change_at(seq)->operation;
}

const std::string &Operations::last_before(std::uint64_t crash_seq) const
{
    auto change = change_at(crash_seq == 0 ? 0 : crash_seq - 1);
    while (change != changes_.begin() && change->operation.empty())
        --change;
    return change->operation;
}

} // namespace fencepost::test
