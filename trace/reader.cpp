// SPDX-License-Identifier: GPL-2.0-or-later
// See reader.h.
#include "trace/reader.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "trace/file_check.h"
#include "trace/image.h"

namespace fencepost::trace {

namespace {

template <typename Enum>
Enum named(std::string_view name, Enum last, const std::filesystem::path &path)
{
    for (unsigned number = 0; number <= static_cast<unsigned>(last); ++number)
        if (name_of(static_cast<Enum>(number)) == name)
            return static_cast<Enum>(number);
    fail(ErrorKind::trace, "{} is damaged: it has an unknown word '{}'", path.string(), name);
}

std::vector<std::byte> copied(std::span<const std::byte> bytes)
{
    return {bytes.begin(), bytes.end()};
}

CodeLocation location_at(const Statement &row, int column)
{
    return {.symbol = static_cast<std::uint32_t>(row.integer(column)),
            .source_file = std::string(row.text(column + 1)),
            .source_line = static_cast<std::uint32_t>(row.integer(column + 2))};
}

// A JSON array of whole numbers, as the writer makes it; what is not one ends the list.
std::vector<std::uint64_t> numbers_in(std::string_view json)
{
    std::vector<std::uint64_t> numbers;
    for (std::size_t at = 1; at < json.size();) {
        std::int64_t number;
        const auto [end, error] =
            std::from_chars(json.data() + at, json.data() + json.size(), number);
        if (error != std::errc())
            break;
        numbers.push_back(static_cast<std::uint64_t>(number));
        at = static_cast<std::size_t>(end - json.data()) + 1;
    }
    return numbers;
}

} // namespace

TraceReader::TraceReader(const std::filesystem::path &path)
    : path_(path), database_(open_trace(path, OpenFor::reading))
{
    // One transaction, so that a recorder does not add blocks between the two questions.
    database_.execute("BEGIN");
    read_recording();
    check_blocks();
    database_.execute("COMMIT");
}

void TraceReader::read_recording()
{
    Statement row(database_.get(),
                  "SELECT state, event_count, event_digest, effect_digest, outcome FROM recording");
    if (!row.step())
        fail(ErrorKind::trace, "{} is damaged: it does not say how far the recording got",
             path_.string());
    recording_ = {.state = named(row.text(0), RecordingState::truncated, path_),
                  .event_count = row.number(1),
                  .event_digest = std::string(row.text(2)),
                  .effect_digest = std::string(row.text(3)),
                  .outcome = std::string(row.text(4))};
}

// A missing block would otherwise pass for events that did not happen.
void TraceReader::check_blocks() const
{
    Statement blocks(database_.get(),
                     "SELECT first_seq, event_count FROM event_block ORDER BY first_seq");
    std::uint64_t expected = 0;
    while (blocks.step()) {
        if (blocks.number(0) != expected)
            fail(ErrorKind::trace, "{} is damaged: the events from seq {} are missing",
                 path_.string(), expected);
        const std::uint64_t count = blocks.number(1);
        if (count == 0 || count > kMaxBlockEvents)
            fail(ErrorKind::trace,
                 "the block of events at seq {} of {} is damaged: it claims {} events", expected,
                 path_.string(), count);
        expected += count;
    }
    if (expected != recording_.event_count)
        fail(ErrorKind::trace, "{} is damaged: it has {} events and claims {}", path_.string(),
             expected, recording_.event_count);
}

EventScan TraceReader::scan(EventFilter filter) const
{
    if (recording_.event_count == 0)
        filter.kinds = 0;
    else
        filter.last_seq = std::min(filter.last_seq, recording_.event_count - 1);
    return EventScan(database_.get(), "main", std::move(filter));
}

std::map<std::string, std::string> TraceReader::meta() const
{
    std::map<std::string, std::string> values;
    for (Statement row(database_.get(), "SELECT key, value FROM meta"); row.step();)
        values.emplace(row.text(0), row.text(1));
    return values;
}

std::vector<Region> TraceReader::regions() const
{
    std::vector<Region> regions;
    Statement row(database_.get(),
                  "SELECT id, name, base, size, file, file_offset, initial_digest, final_digest"
                  " FROM region ORDER BY id");
    while (row.step()) {
        regions.push_back({.id = static_cast<RegionId>(row.integer(0)),
                           .name = std::string(row.text(1)),
                           .base = row.number(2),
                           .size = row.number(3),
                           .file = std::string(row.text(4)),
                           .file_offset = row.number(5),
                           .initial_digest = row.optional_text(6),
                           .final_digest = row.optional_text(7)});
        const Region &region = regions.back();
        constexpr std::uint64_t kLimit = std::uint64_t{1} << 52; // x86-64 physical addresses
        if (region.base > kLimit || region.size > kLimit || region.file_offset > kLimit)
            fail(ErrorKind::trace, "{} is damaged: region {} is beyond physical memory",
                 path_.string(), region.name);
    }
    return regions;
}

std::vector<SiteRow> TraceReader::sites() const
{
    std::vector<SiteRow> sites;
    Statement row(database_.get(),
                  "SELECT id, pc, privilege, address_space, module, instruction, disassembly, "
                  "symbol, source_file,"
                  " source_line, stores, nt_stores, flushes, fences, loads, volatile_flushes"
                  " FROM site LEFT JOIN site_count ON site_count.site = site.id ORDER BY id");
    while (row.step())
        sites.push_back({.site = {.id = static_cast<SiteId>(row.integer(0)),
                                  .pc = row.number(1),
                                  .privilege = named(row.text(2), Privilege::user, path_),
                                  .address_space = row.number(3),
                                  .module = std::string(row.text(4)),
                                  .instruction = copied(row.blob(5)),
                                  .disassembly = std::string(row.text(6))},
                         .counts = {.stores = row.number(10),
                                    .nt_stores = row.number(11),
                                    .flushes = row.number(12),
                                    .fences = row.number(13),
                                    .loads = row.number(14),
                                    .volatile_flushes = row.number(15)},
                         .location = location_at(row, 7)});
    return sites;
}

std::vector<Symbol> TraceReader::symbols() const
{
    std::vector<Symbol> symbols;
    for (Statement row(database_.get(),
                       "SELECT id, name, module, address, size FROM symbol ORDER BY id");
         row.step();)
        symbols.push_back({.id = static_cast<std::uint32_t>(row.integer(0)),
                           .name = std::string(row.text(1)),
                           .module = std::string(row.text(2)),
                           .address = row.number(3),
                           .size = row.number(4)});
    return symbols;
}

std::vector<Stack> TraceReader::stacks() const
{
    std::vector<Stack> stacks;
    for (Statement row(database_.get(), "SELECT id, parent, frame FROM stack ORDER BY id");
         row.step();)
        stacks.push_back({.id = static_cast<StackId>(row.integer(0)),
                          .parent = static_cast<StackId>(row.integer(1)),
                          .frame = static_cast<std::uint32_t>(row.integer(2))});
    return stacks;
}

std::vector<StackFrameRow> TraceReader::stack_frames() const
{
    std::vector<StackFrameRow> frames;
    Statement row(
        database_.get(),
        "SELECT id, pc, privilege, address_space, module, symbol, source_file, source_line"
        " FROM stack_frame ORDER BY id");
    while (row.step())
        frames.push_back({.frame = {.id = static_cast<std::uint32_t>(row.integer(0)),
                                    .pc = row.number(1),
                                    .privilege = named(row.text(2), Privilege::user, path_),
                                    .address_space = row.number(3),
                                    .module = std::string(row.text(4))},
                          .location = location_at(row, 5)});
    return frames;
}

std::vector<DataQuality> TraceReader::data_quality() const
{
    std::vector<DataQuality> counters;
    Statement row(database_.get(),
                  "SELECT name, value, severity, meaning FROM data_quality ORDER BY name");
    while (row.step())
        counters.push_back({.name = std::string(row.text(0)),
                            .value = row.integer(1),
                            .severity = named(row.text(2), QualityLevel::error, path_),
                            .meaning = std::string(row.text(3))});
    return counters;
}

void TraceReader::for_each_marker(const std::function<void(const MarkerRow &)> &visit,
                                  std::uint64_t first_seq, std::uint64_t last_seq) const
{
    if (recording_.event_count == 0)
        return;
    Statement row(database_.get(),
                  "SELECT seq, kind, number, result, process, arguments, text FROM marker"
                  " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq");
    row.bind(1, std::min<std::uint64_t>(first_seq, INT64_MAX))
        .bind(2, std::min<std::uint64_t>(last_seq, recording_.event_count - 1));
    while (row.step())
        visit({.seq = row.number(0),
               .kind = named(row.text(1), MarkerKind::note, path_),
               .marker = {.number = row.integer(2),
                          .result = row.integer(3),
                          .process = row.number(4),
                          .arguments = numbers_in(row.text(5)),
                          .text = std::string(row.text(6))}});
}

void TraceReader::load_initial_image(const Region &region, std::span<std::byte> bytes) const
{
    trace::load_initial_image(database_.get(), region, bytes);
}

} // namespace fencepost::trace
