// SPDX-License-Identifier: GPL-2.0-or-later
// One event of a trace as it lives in memory: 32 bytes, filled by the tracer, read by the analyzer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fencepost::trace {

// Values are copied as little-endian words; guest and host are both x86-64.
static_assert(std::endian::native == std::endian::little);

inline constexpr unsigned kLineBytes = 64;
inline constexpr unsigned kUnitBytes = 8;
inline constexpr unsigned kMaxStoreBytes = 64;

using SiteId = std::uint32_t;  // dense from 1; 0 = unknown
using StackId = std::uint32_t; // dense from 1; 0 = none recorded

// The numbers of all enums here are part of the file format: append, never renumber.
enum class EventKind : std::uint8_t { store, nt_store, flush, fence, marker, load };
inline constexpr unsigned kEventKinds = 6;

// `subkind` of a store. What counts as atomic to the model is the unit, not this.
enum class StoreKind : std::uint8_t { plain };
enum class NtStoreKind : std::uint8_t { movnt, maskmov, movdir };
enum class FlushKind : std::uint8_t { clflush, clflushopt, clwb, wbinvd, wbnoinvd };
// Only the first four can count as a fence (DESIGN: persistence model); the rest are recorded so
// that a user can see what was there.
enum class FenceKind : std::uint8_t {
    sfence,
    mfence,
    lock_rmw,
    xchg,
    lfence,
    cpuid,
    iret,
    serialize,
    other_serialising,
};
enum class MarkerKind : std::uint8_t {
    op_begin,
    op_end,
    checkpoint,
    epoch,
    strand_begin,
    strand_end,
    range,
    record_on,
    record_off,
    syscall_enter,
    syscall_exit,
    process_start,
    process_end,
    note,
};
enum class LoadKind : std::uint8_t { plain };

enum EventFlag : std::uint8_t {
    kAtomic = 1, // part of a locked instruction or an xchg; its fence comes just before it
};
inline constexpr std::uint8_t kKnownEventFlags = kAtomic;

// An event's position in the trace is its `seq`, from 0; it is not stored in the event.
struct Event {
    // Guest physical address of the first byte (flush: of the operand); 0 where there is none.
    std::uint64_t address = 0;
    // Store of up to 8 bytes: the bytes, little-endian, the unused upper ones zero.
    // Wider store: where its bytes start in the wide values that come with the event.
    // Marker: its index among the markers of an EventBuffer; 0 when read back.
    std::uint64_t value = 0;
    SiteId site = 0;
    StackId stack = 0;
    EventKind kind = EventKind::store;
    std::uint8_t subkind = 0;
    std::uint8_t size = 0; // bytes stored or loaded, 1..64; 0 for the other kinds
    std::uint8_t flags = 0;
    std::uint16_t vcpu = 0;
    std::uint16_t reserved = 0;

    bool operator==(const Event &) const = default;

    bool is_store() const { return kind == EventKind::store || kind == EventKind::nt_store; }
    bool is_wide_store() const { return is_store() && size > sizeof value; }
    // wbinvd and wbnoinvd flush everything and name no line.
    bool has_address() const
    {
        return is_store() || kind == EventKind::load ||
               (kind == EventKind::flush && subkind < static_cast<std::uint8_t>(FlushKind::wbinvd));
    }
    std::uint64_t first_line() const { return address / kLineBytes; }
    // A store may straddle two lines.
    std::uint64_t last_line() const { return (address + (size ? size - 1u : 0u)) / kLineBytes; }

    StoreKind store_kind() const { return static_cast<StoreKind>(subkind); }
    NtStoreKind nt_store_kind() const { return static_cast<NtStoreKind>(subkind); }
    FlushKind flush_kind() const { return static_cast<FlushKind>(subkind); }
    FenceKind fence_kind() const { return static_cast<FenceKind>(subkind); }
    MarkerKind marker_kind() const { return static_cast<MarkerKind>(subkind); }
};
static_assert(sizeof(Event) == 32);

// One event of a trace, and the code that executed it.
struct EventRef {
    std::uint64_t seq = 0;
    SiteId site = 0;
    StackId stack = 0;

    bool operator==(const EventRef &) const = default;
};

// The bytes of a store. `wide_values` are those that came with the event; where a reader was told
// to leave values out, a wide store has none.
inline std::span<const std::byte> value_of(const Event &event,
                                           std::span<const std::byte> wide_values)
{
    if (!event.is_store())
        return {};
    if (event.is_wide_store()) {
        const bool known =
            event.value < wide_values.size() && event.size <= wide_values.size() - event.value;
        return known ? wide_values.subspan(event.value, event.size) : wide_values.first(0);
    }
    return std::as_bytes(std::span(&event.value, 1)).first(event.size);
}

// Names as they stand in SQL, JSON and Python.
std::string_view name_of(EventKind kind);
std::string_view name_of(MarkerKind kind);
std::string_view subkind_name(EventKind kind, std::uint8_t subkind);
unsigned subkind_count(EventKind kind);

} // namespace fencepost::trace
