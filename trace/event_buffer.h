// SPDX-License-Identifier: GPL-2.0-or-later
// Events on their way from whoever captures them to the writer, in trace order.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "trace/event.h"

namespace fencepost::trace {

// What a note begins with that tells what a process has mapped: arguments are address, bytes and
// offset in the file that the rest of the text names.
inline constexpr std::string_view kMapNote = "map ";

// The text of a note about flushes that are not in the trace, because nobody knows of which line:
// `number` of them, the last one by the site and the stack of the note.
inline constexpr std::string_view kLostFlushesNote = "lost flushes";

// What a marker carries beyond its event. Which fields mean what: schema.sql, table `marker`.
struct Marker {
    std::int64_t number = 0;
    std::int64_t result = 0;
    std::uint64_t process = 0;
    std::vector<std::uint64_t> arguments = {};
    std::string text = {};

    bool operator==(const Marker &) const = default;
};

inline constexpr std::size_t kSystemCallArguments = 6;

// Which call of the recording a syscall_enter or syscall_exit is about: the entry has a number
// behind its arguments, and the return that belongs to it has the same one. 0: not told.
inline std::uint64_t call_id(MarkerKind kind, const Marker &marker)
{
    const std::size_t at = kind == MarkerKind::syscall_enter ? kSystemCallArguments : 0;
    return at < marker.arguments.size() ? marker.arguments[at] : 0;
}

// Filled by one thread, then handed over whole; clear() keeps the memory. Pushing allocates only
// when a wide store or a marker outgrows what earlier rounds needed.
class EventBuffer {
public:
    explicit EventBuffer(std::size_t capacity) : capacity_(capacity) { events_.reserve(capacity); }

    bool full() const { return events_.size() >= capacity_; }
    bool empty() const { return events_.empty(); }
    std::size_t size() const { return events_.size(); }

    // Anything but a wide store or a marker; `value` is set by the caller.
    void push(const Event &event) { events_.push_back(event); }

    // A store of `event.size` bytes; sets `value`.
    void push_store(Event event, const void *bytes)
    {
        if (event.size <= sizeof event.value) {
            event.value = 0;
            std::memcpy(&event.value, bytes, event.size);
        } else {
            event.value = wide_values_.size();
            const auto *first = static_cast<const std::byte *>(bytes);
            wide_values_.insert(wide_values_.end(), first, first + event.size);
        }
        events_.push_back(event);
    }

    void push_marker(Event event, Marker marker)
    {
        event.value = markers_.size();
        markers_.push_back(std::move(marker));
        events_.push_back(event);
    }

    void clear()
    {
        events_.clear();
        wide_values_.clear();
        markers_.clear();
    }

    std::span<const Event> events() const { return events_; }
    std::span<const std::byte> wide_values() const { return wide_values_; }
    std::span<const Marker> markers() const { return markers_; }

private:
    std::size_t capacity_;
    std::vector<Event> events_;
    std::vector<std::byte> wide_values_;
    std::vector<Marker> markers_;
};

} // namespace fencepost::trace
