// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of a timeline: neighbours that belong together are one, and of many only those near what
// matters stay.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/report/timeline.h"
#include "analyzer/symbols/code_names.h"
#include "trace/reader.h"

namespace fencepost::collect {

class TimelineRows {
public:
    // Rows of the finding's places have their roles. All are borrowed.
    TimelineRows(const symbols::CodeNames &names, const trace::TraceReader &reader,
                 const findings::Finding &finding);

    // In the order of the trace.
    void add(std::uint64_t seq, const trace::Event &event, report::Fate fate, bool flushed = false);
    // Those with a role and the ones beside them, what is in flight, and the nearest to `seq`.
    std::vector<report::TimelineRow> around(std::uint64_t seq);

private:
    bool joins(const trace::Event &event, const report::TimelineRow &row) const;
    std::string marker_text(std::uint64_t seq) const;

    const symbols::CodeNames &names_;
    const trace::TraceReader &reader_;
    std::vector<trace::Region> regions_;
    std::map<std::uint64_t, std::string> roles_; // by seq
    std::vector<report::TimelineRow> rows_;
    // Of the last row.
    trace::SiteId site_ = 0;
    trace::StackId stack_ = 0;
};

} // namespace fencepost::collect
