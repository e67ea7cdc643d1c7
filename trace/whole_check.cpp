// SPDX-License-Identifier: GPL-2.0-or-later
// See whole_check.h. SQLite reads only the pages that a question needs, so damage elsewhere stays
// unseen until then.
#include "trace/whole_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trace/event_moments.h"
#include "trace/inlined_calls.h"
#include "trace/late_lines.h"

namespace fencepost::trace {

namespace {

// What is said first, without the title that SQLite puts above it.
std::string first_complaint(std::string_view text)
{
    if (text.starts_with("***"))
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    return std::string(text.substr(0, text.find('\n')));
}

void check_pages(const TraceReader &reader)
{
    Statement check(reader.connection(), "PRAGMA integrity_check(1)");
    while (check.step())
        if (check.text(0) != "ok")
            fail(ErrorKind::trace, "{} is truncated or damaged: SQLite says {}",
                 reader.path().string(), first_complaint(check.text(0)));
}

void check_markers(const TraceReader &reader)
{
    std::vector<std::pair<std::uint64_t, MarkerKind>> events;
    reader.scan({.kinds = kind_bit(EventKind::marker), .with_values = false})
        .for_each([&](std::uint64_t seq, const Event &event, auto) {
            events.emplace_back(seq, event.marker_kind());
        });
    std::size_t rows = 0;
    reader.for_each_marker([&](const MarkerRow &row) {
        if (rows >= events.size() || events[rows] != std::pair(row.seq, row.kind))
            fail(ErrorKind::trace,
                 "{} is damaged: it has words for a marker at seq {} that its events do not have",
                 reader.path().string(), row.seq);
        ++rows;
    });
    if (rows != events.size())
        fail(ErrorKind::trace,
             "{} is damaged: its events have {} markers, and {} of them have words",
             reader.path().string(), events.size(), rows);
}

void check_moments(const TraceReader &reader)
{
    MomentReader moments(reader.connection(), "main");
    for (EventScan scan = reader.scan({.with_values = false}); scan.next();)
        moments.of_block(scan.first_seq(), scan.events().size());
}

} // namespace

void check_whole(const TraceReader &reader)
{
    check_pages(reader);
    reader.meta();
    reader.regions();
    reader.sites();
    reader.symbols();
    reader.stacks();
    reader.stack_frames();
    inlined_calls(reader);
    late_lines(reader);
    reader.data_quality();
    check_markers(reader);
    check_moments(reader);
}

} // namespace fencepost::trace
