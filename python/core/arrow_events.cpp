// SPDX-License-Identifier: GPL-2.0-or-later
// Events as columns of Arrow, with the names and meanings of Python's `Event`; what an event does
// not have is missing.
#include <algorithm>
#include <array>
#include <climits>

#include "base/error.h"
#include "python/core/arrow.h"

namespace fencepost::python::arrow {

namespace {

using trace::Event;
using trace::EventKind;

Column kind_names()
{
    std::vector<std::string> names;
    for (unsigned kind = 0; kind < trace::kEventKinds; ++kind)
        names.emplace_back(name_of(static_cast<EventKind>(kind)));
    return texts(names);
}

// Subkinds of different kinds may have one name: it stands once.
struct SubkindNames {
    std::vector<std::string> names;
    std::array<std::vector<std::int8_t>, trace::kEventKinds> number_of;

    SubkindNames()
    {
        for (unsigned kind = 0; kind < trace::kEventKinds; ++kind)
            for (unsigned subkind = 0; subkind < subkind_count(static_cast<EventKind>(kind));
                 ++subkind) {
                const std::string name(
                    subkind_name(static_cast<EventKind>(kind), static_cast<std::uint8_t>(subkind)));
                const auto known = std::ranges::find(names, name);
                number_of[kind].push_back(static_cast<std::int8_t>(known - names.begin()));
                if (known == names.end())
                    names.push_back(name);
            }
        CHECK(names.size() <= INT8_MAX, "more subkinds than a byte counts");
    }
};

const SubkindNames &subkind_names()
{
    static const SubkindNames names;
    return names;
}

class EventColumns {
public:
    EventColumns(std::uint64_t first_seq, std::span<const Event> events,
                 const std::optional<std::span<const std::uint32_t>> &selected,
                 std::span<const std::byte> wide_values)
        : first_seq_(first_seq), events_(events), selected_(selected), wide_values_(wide_values),
          count_(selected ? selected->size() : events.size())
    {
    }

    std::size_t count() const { return count_; }
    const Event &event(std::size_t row) const { return events_[index(row)]; }
    std::uint64_t seq(std::size_t row) const { return first_seq_ + index(row); }

    template <typename T, typename Get>
    void add(const char *name, const char *format, Get &&get,
             const std::function<bool(std::size_t)> &is_there = {})
    {
        std::vector<T> numbers(count_);
        for (std::size_t row = 0; row < count_; ++row)
            numbers[row] = static_cast<T>(get(row));
        add(name, format, {buffer_of(std::move(numbers))}, is_there);
    }
    void add_atomic()
    {
        add("atomic", "b",
            {bits_of(count_, [&](std::size_t row) { return event(row).flags & trace::kAtomic; })},
            {});
    }
    void add_values()
    {
        std::vector<std::byte> bytes;
        std::vector<std::int32_t> ends = {0}; // 65,536 stores have at most 4 MiB
        for (std::size_t row = 0; row < count_; ++row) {
            const auto value = value_of(event(row), wide_values_);
            bytes.insert(bytes.end(), value.begin(), value.end());
            ends.push_back(static_cast<std::int32_t>(bytes.size()));
        }
        add("value", "z", {buffer_of(std::move(ends)), buffer_of(std::move(bytes))},
            [&](std::size_t row) { return event(row).is_store(); });
    }
    void name_numbers(Column names)
    {
        Column &last = columns_.back();
        last = by_number(last.field.name, last.field.format, last.values.buffers[1],
                         last.values.length, std::move(names));
    }

    Column table() { return arrow::table(std::move(columns_), static_cast<std::int64_t>(count_)); }

private:
    std::size_t index(std::size_t row) const { return selected_ ? (*selected_)[row] : row; }

    void add(const char *name, const char *format, std::vector<Buffer> buffers,
             const std::function<bool(std::size_t)> &is_there)
    {
        std::int64_t missing = 0;
        for (std::size_t row = 0; is_there && row < count_; ++row)
            missing += !is_there(row);
        buffers.insert(buffers.begin(), missing ? bits_of(count_, is_there) : nullptr);
        columns_.push_back({{.name = name, .format = format},
                            {.length = static_cast<std::int64_t>(count_),
                             .null_count = missing,
                             .buffers = std::move(buffers)}});
    }

    std::uint64_t first_seq_;
    std::span<const Event> events_;
    std::optional<std::span<const std::uint32_t>> selected_;
    std::span<const std::byte> wide_values_;
    std::size_t count_;
    std::vector<Column> columns_;
};

Column event_table(EventColumns columns, bool with_values)
{
    const auto event = [&](std::size_t row) -> const Event & { return columns.event(row); };
    columns.add<std::int64_t>("seq", "l", [&](std::size_t row) { return columns.seq(row); });
    columns.add<std::int8_t>("kind", "c", [&](std::size_t row) { return event(row).kind; });
    columns.name_numbers(kind_names());
    columns.add<std::int8_t>("subkind", "c", [&](std::size_t row) {
        return subkind_names()
            .number_of[static_cast<std::size_t>(event(row).kind)][event(row).subkind];
    });
    columns.name_numbers(texts(subkind_names().names));
    columns.add<std::uint16_t>("vcpu", "S", [&](std::size_t row) { return event(row).vcpu; });
    columns.add<std::int64_t>(
        "address", "l", [&](std::size_t row) { return event(row).address; },
        [&](std::size_t row) { return event(row).has_address(); });
    columns.add<std::uint8_t>(
        "size", "C", [&](std::size_t row) { return event(row).size; },
        [&](std::size_t row) { return event(row).size != 0; });
    if (with_values)
        columns.add_values();
    columns.add<std::uint32_t>(
        "site", "I", [&](std::size_t row) { return event(row).site; },
        [&](std::size_t row) { return event(row).site != 0; });
    columns.add<std::uint32_t>(
        "stack", "I", [&](std::size_t row) { return event(row).stack; },
        [&](std::size_t row) { return event(row).stack != 0; });
    columns.add_atomic();
    return columns.table();
}

} // namespace

Field event_fields(bool with_values)
{
    return event_table(EventColumns(0, {}, std::nullopt, {}), with_values).field;
}

Values event_values(std::uint64_t first_seq, std::span<const Event> events,
                    const std::optional<std::span<const std::uint32_t>> &selected,
                    std::span<const std::byte> wide_values, bool with_values)
{
    return event_table(EventColumns(first_seq, events, selected, wide_values), with_values).values;
}

} // namespace fencepost::python::arrow
