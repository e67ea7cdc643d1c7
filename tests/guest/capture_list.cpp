// SPDX-License-Identifier: GPL-2.0-or-later
// See capture_list.h.
#include "tests/guest/capture_list.h"

#include <sstream>

#include <fmt/core.h>

#include "base/error.h"

namespace fencepost::guest {

namespace {

constexpr std::size_t kShownDifferences = 10;
constexpr char kUntouched = static_cast<char>(0xa5); // what `many` finds before

std::string from_hex(const std::string &text)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}

std::string to_hex(const std::string &bytes)
{
    std::string text;
    for (const char byte : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

std::string describe(const CapturedEvent &captured)
{
    const trace::Event &event = captured.event;
    return fmt::format("seq {}: {} {} at {:#x}, {} bytes {}{}", captured.seq,
                       trace::name_of(event.kind), trace::subkind_name(event.kind, event.subkind),
                       event.address, event.size, to_hex(captured.value),
                       event.flags & trace::kAtomic ? ", atomic" : "");
}

std::string describe(const CaptureRecord &record, std::uint64_t address)
{
    return fmt::format("line {}: {} {} at {:#x}, {} bytes {}{}", record.line, record.kind,
                       record.subkind, address, record.size, to_hex(record.value.substr(0, 64)),
                       record.atomic ? ", atomic" : "");
}

bool matches(const CaptureRecord &record, const CapturedEvent &captured, std::uint64_t address)
{
    const trace::Event &event = captured.event;
    if (record.kind != trace::name_of(event.kind) ||
        record.subkind != trace::subkind_name(event.kind, event.subkind))
        return false;
    if (event.has_address() && event.address != address)
        return false;
    return event.size == record.size && captured.value == record.value &&
           record.atomic == ((event.flags & trace::kAtomic) != 0);
}

// Takes the stores within the record's bytes from `next` on; whether they explain those bytes.
bool matches_many(const CaptureRecord &record, const std::vector<CapturedEvent> &captured,
                  std::size_t &next, std::uint64_t address)
{
    std::string bytes(record.size, kUntouched);
    const std::size_t first = next;
    for (; next < captured.size(); ++next) {
        const trace::Event &event = captured[next].event;
        if (event.kind != trace::EventKind::store || event.address < address ||
            event.address + event.size > address + record.size ||
            event.site != captured[first].event.site)
            break;
        bytes.replace(event.address - address, event.size, captured[next].value);
    }
    return next > first && bytes == record.value;
}

} // namespace

std::vector<CaptureRecord> parse_capture_list(const std::string &text)
{
    std::vector<CaptureRecord> records;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        CaptureRecord record;
        std::string value;
        if (!(fields >> record.line >> record.kind >> record.subkind >> record.offset >>
              record.size >> record.atomic))
            fail(ErrorKind::guest, "a capture program printed '{}'", line);
        fields >> value;
        record.value = from_hex(value);
        records.push_back(record);
    }
    return records;
}

std::vector<CapturedEvent> captured_events(const trace::TraceReader &reader, std::int64_t number,
                                           const std::function<bool(const trace::Event &)> &wanted)
{
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (row.marker.number != number)
            return;
        if (row.kind == trace::MarkerKind::op_begin)
            first = row.seq;
        else if (row.kind == trace::MarkerKind::op_end)
            last = row.seq;
    });
    if (first >= last)
        fail(ErrorKind::trace, "the trace has no operation {}", number);
    std::vector<CapturedEvent> events;
    trace::EventScan scan = reader.scan({.first_seq = first + 1, .last_seq = last - 1});
    scan.for_each(
        [&](std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide) {
            if (!wanted(event))
                return;
            const std::span<const std::byte> value = trace::value_of(event, wide);
            events.push_back(
                {seq, event, {reinterpret_cast<const char *>(value.data()), value.size()}});
        });
    return events;
}

std::vector<std::string> differences(const std::vector<CaptureRecord> &done,
                                     const std::vector<CapturedEvent> &captured,
                                     const std::function<std::uint64_t(std::uint64_t)> &place)
{
    std::vector<std::string> found;
    std::size_t next = 0;
    for (const CaptureRecord &record : done) {
        if (found.size() >= kShownDifferences)
            return found;
        const std::uint64_t address = place(record.offset);
        const std::size_t before = next;
        const bool fits = record.kind == "many" ? matches_many(record, captured, next, address)
                                                : next < captured.size() &&
                                                      matches(record, captured[next++], address);
        if (!fits)
            found.push_back(
                fmt::format("done {}, captured {}", describe(record, address),
                            before < captured.size() ? describe(captured[before]) : "nothing"));
    }
    for (; next < captured.size() && found.size() < kShownDifferences; ++next)
        found.push_back(fmt::format("done nothing, captured {}", describe(captured[next])));
    return found;
}

} // namespace fencepost::guest
