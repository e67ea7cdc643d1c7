// SPDX-License-Identifier: GPL-2.0-or-later
// The names of all enums of a trace, spelled as in SQL, JSON and Python.
#include <array>

#include "trace/event.h"
#include "trace/records.h"

namespace fencepost::trace {

namespace {

constexpr std::array<std::string_view, kEventKinds> kKindNames = {"store", "nt_store", "flush",
                                                                  "fence", "marker",   "load"};
constexpr std::string_view kStoreNames[] = {"plain"};
constexpr std::string_view kNtStoreNames[] = {"movnt", "maskmov", "movdir"};
constexpr std::string_view kFlushNames[] = {"clflush", "clflushopt", "clwb", "wbinvd", "wbnoinvd"};
constexpr std::string_view kFenceNames[] = {"sfence", "mfence",    "lock_rmw",
                                            "xchg",   "lfence",    "cpuid",
                                            "iret",   "serialize", "other_serialising"};
constexpr std::string_view kMarkerNames[] = {
    "op_begin",     "op_end",        "checkpoint",  "epoch",      "strand_begin",
    "strand_end",   "range",         "record_on",   "record_off", "syscall_enter",
    "syscall_exit", "process_start", "process_end", "note"};
static_assert(std::size(kFenceNames) == static_cast<unsigned>(FenceKind::other_serialising) + 1);
static_assert(std::size(kMarkerNames) == static_cast<unsigned>(MarkerKind::note) + 1);

constexpr std::array<std::span<const std::string_view>, kEventKinds> kSubkindNames = {
    kStoreNames, kNtStoreNames, kFlushNames, kFenceNames, kMarkerNames, kStoreNames};

constexpr std::string_view kUnknown = "unknown";

template <std::size_t N>
std::string_view name_at(const std::string_view (&names)[N], unsigned number)
{
    return number < N ? names[number] : kUnknown;
}

} // namespace

std::string_view name_of(EventKind kind)
{
    const auto number = static_cast<unsigned>(kind);
    return number < kEventKinds ? kKindNames[number] : kUnknown;
}

std::string_view name_of(MarkerKind kind)
{
    return name_at(kMarkerNames, static_cast<unsigned>(kind));
}

unsigned subkind_count(EventKind kind)
{
    const auto number = static_cast<unsigned>(kind);
    return number < kEventKinds ? static_cast<unsigned>(kSubkindNames[number].size()) : 0;
}

std::string_view subkind_name(EventKind kind, std::uint8_t subkind)
{
    return subkind < subkind_count(kind) ? kSubkindNames[static_cast<unsigned>(kind)][subkind]
                                         : kUnknown;
}

std::string_view name_of(Privilege privilege)
{
    static constexpr std::string_view kNames[] = {"kernel", "user"};
    return name_at(kNames, static_cast<unsigned>(privilege));
}

std::string_view name_of(QualityLevel level)
{
    static constexpr std::string_view kNames[] = {"info", "warning", "error"};
    return name_at(kNames, static_cast<unsigned>(level));
}

std::string_view name_of(RecordingState state)
{
    static constexpr std::string_view kNames[] = {"prepared", "running", "complete", "truncated"};
    return name_at(kNames, static_cast<unsigned>(state));
}

} // namespace fencepost::trace
