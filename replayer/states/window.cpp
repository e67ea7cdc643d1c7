// SPDX-License-Identifier: GPL-2.0-or-later
// See window.h.
#include "replayer/states/window.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "qemu-plugin/marker/fencepost_marker.h"
#include "replayer/states/function_window.h"

namespace fencepost::states {

using trace::MarkerKind;
using trace::MarkerRow;

namespace {

struct Range {
    std::uint64_t first = 0;
    std::optional<std::uint64_t> last;
};

[[noreturn]] void fail_window(std::string_view text)
{
    fail(ErrorKind::usage,
         "'{}' is not a window; there are seq:A-B, epoch:A-B, op:N, op:N-M, checkpoint:N-M and "
         "function:NAME",
         text);
}

std::uint64_t parse_number(std::string_view digits, std::string_view text)
{
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
        fail_window(text);
    return number;
}

// "5" is 5 to 5, "5-" has no end.
Range parse_range(std::string_view words, std::string_view text)
{
    const std::size_t dash = words.find('-');
    Range range;
    range.first = parse_number(words.substr(0, dash), text);
    if (dash == std::string_view::npos)
        range.last = range.first;
    else if (dash + 1 < words.size())
        range.last = parse_number(words.substr(dash + 1), text);
    if (range.last && *range.last < range.first)
        fail(ErrorKind::usage, "the window '{}' ends before it begins", text);
    return range;
}

struct Words {
    std::string_view kind; // seq, epoch, op, checkpoint or function
    Range range;
    std::string function;
};

Words parse_words(std::string_view text)
{
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    if (kind == "function" && colon != std::string_view::npos && colon + 1 < text.size())
        return {kind, {}, std::string(text.substr(colon + 1))};
    if (colon == std::string_view::npos ||
        (kind != "seq" && kind != "epoch" && kind != "op" && kind != "checkpoint"))
        fail_window(text);
    return {kind, parse_range(text.substr(colon + 1), text), {}};
}

std::optional<std::uint64_t> find_marker(const trace::TraceReader &reader, MarkerKind kind,
                                         std::uint64_t number, std::uint64_t from)
{
    std::optional<std::uint64_t> found;
    reader.for_each_marker(
        [&](const MarkerRow &row) {
            if (!found && row.kind == kind &&
                static_cast<std::uint64_t>(row.marker.number) == number)
                found = row.seq;
        },
        from);
    return found;
}

Window between_markers(const trace::TraceReader &reader, MarkerKind first, MarkerKind last,
                       const Range &range, std::string_view word)
{
    const auto begin = find_marker(reader, first, range.first, 0);
    if (!begin)
        fail(ErrorKind::usage, "the trace has no {} {}", word, range.first);
    Window window;
    window.first_seq = *begin;
    if (!range.last)
        return window;
    const auto end = find_marker(reader, last, *range.last, *begin);
    if (!end)
        fail(ErrorKind::usage, "the trace has no end of {} {}", word, *range.last);
    window.last_seq = *end;
    return window;
}

} // namespace

bool contains(const std::vector<Span> &spans, std::uint64_t seq)
{
    const auto behind =
        std::upper_bound(spans.begin(), spans.end(), seq,
                         [](std::uint64_t at, const Span &span) { return at < span.first_seq; });
    return behind != spans.begin() && seq <= std::prev(behind)->last_seq;
}

Window parse_window(std::string_view text, const trace::TraceReader &reader)
{
    const auto [word, range, function] = parse_words(text);
    Window window;
    if (word == "function") {
        window = function_window(reader, function);
    } else if (word == "seq") {
        if (range.first > reader.event_count())
            fail(ErrorKind::usage, "the window '{}' begins after the end of the trace ({} events)",
                 text, reader.event_count());
        window.first_seq = range.first;
        window.last_seq = range.last.value_or(UINT64_MAX);
    } else if (word == "epoch") {
        window.first_epoch = range.first;
        window.last_epoch = range.last.value_or(UINT64_MAX);
    } else if (word == "op") {
        window =
            between_markers(reader, MarkerKind::op_begin, MarkerKind::op_end, range, "operation");
        if (window.last_seq != UINT64_MAX)
            ++window.last_seq; // where the operation has returned and the next has not begun
    } else {
        window = between_markers(reader, MarkerKind::checkpoint, MarkerKind::checkpoint, range,
                                 "checkpoint");
    }
    return window;
}

std::uint64_t first_crash_seq(const trace::TraceReader &reader)
{
    std::optional<std::uint64_t> mark;
    reader.for_each_marker([&](const MarkerRow &row) {
        if (!mark && row.kind == MarkerKind::checkpoint && row.marker.text == FENCEPOST_MARK_TEXT)
            mark = row.seq;
    });
    return mark.value_or(0);
}

void check_window(std::string_view text)
{
    parse_words(text);
}

} // namespace fencepost::states
