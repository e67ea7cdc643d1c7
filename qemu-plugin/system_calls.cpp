// SPDX-License-Identifier: GPL-2.0-or-later
// See system_calls.h.
#include "qemu-plugin/system_calls.h"

#include <algorithm>

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <xxhash.h>

#include "qemu-plugin/system_call_table.h"

namespace fencepost::tracer {

namespace {

using trace::Marker;
using trace::MarkerKind;

constexpr std::size_t kMaxPath = 4096;

bool is_error(std::uint64_t result)
{
    return result >= static_cast<std::uint64_t>(-4095);
}

bool starts_program(std::uint64_t number)
{
    return number == SYS_execve || number == SYS_execveat;
}

bool makes_process(std::uint64_t number)
{
    return number == SYS_fork || number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
}

bool never_returns(std::uint64_t number)
{
    return number == SYS_exit || number == SYS_exit_group || number == SYS_rt_sigreturn;
}

bool opens_file(std::uint64_t number)
{
    return number == SYS_open || number == SYS_openat || number == SYS_openat2 ||
           number == SYS_creat;
}

template <typename List, typename Value> void remove(List &list, const Value &value)
{
    list.erase(std::remove(list.begin(), list.end(), value), list.end());
}

} // namespace

std::size_t SystemCalls::PlaceHash::operator()(const Place &place) const
{
    return XXH3_64bits(&place, sizeof place);
}

void SystemCalls::switch_on(std::uint64_t address_space)
{
    on_ = true;
    left_out_ = address_space;
}

void SystemCalls::switch_off()
{
    on_ = false;
    pending_.clear();
    starting_.clear();
    forking_.clear();
}

void SystemCalls::add(MarkerKind kind, std::uint64_t address_space, Marker marker)
{
    if (address_space == left_out_)
        return;
    marker.process = address_space;
    markers_.push_back({kind, std::move(marker)});
}

std::string SystemCalls::paths_of(const SystemCallEntry &entry)
{
    const PathArguments where = path_arguments(entry.number);
    auto read = [&](std::int8_t index) {
        return memory_.read_text(entry.arguments[static_cast<std::size_t>(index)], kMaxPath)
            .value_or("");
    };
    std::string text;
    if (where.first >= 0)
        text = read(where.first);
    if (where.second >= 0)
        text += " -> " + read(where.second);
    return text;
}

// Then what is made has no address space of its own.
bool SystemCalls::shares_memory(const SystemCallEntry &entry)
{
    switch (entry.number) {
    case SYS_clone:
        return entry.arguments[0] & CLONE_VM;
    case SYS_clone3: // flags are the first word of its structure
        return memory_.read_word(entry.arguments[0]).value_or(CLONE_VM) & CLONE_VM;
    default:
        return entry.number == SYS_vfork;
    }
}

const std::vector<NewMarker> &SystemCalls::enter(const SystemCallEntry &entry)
{
    markers_.clear();
    const Place place = {entry.address_space, entry.next_pc, entry.stack};
    complete_image(processes_.in(entry.address_space));
    // The kernel restarts some calls by executing the instruction once more: still the same call.
    const auto before = pending_.find(place);
    if (before != pending_.end() && before->second.entry.number == entry.number)
        return markers_;
    const Pending call = {entry, paths_of(entry), ++calls_};
    std::vector<std::uint64_t> arguments(entry.arguments.begin(), entry.arguments.end());
    arguments.push_back(call.id);
    add(MarkerKind::syscall_enter, entry.address_space,
        {.number = static_cast<std::int64_t>(entry.number),
         .arguments = std::move(arguments),
         .text = call.path});
    if (entry.number == SYS_exit_group)
        add(MarkerKind::process_end, entry.address_space,
            {.result = static_cast<std::int64_t>(entry.arguments[0] & 0xff)});
    if (never_returns(entry.number))
        return markers_;
    pending_[place] = call;
    if (starts_program(entry.number))
        starting_.push_back(place);
    if (makes_process(entry.number) && !shares_memory(entry))
        forking_.push_back(place);
    return markers_;
}

const std::vector<NewMarker> &SystemCalls::leave(const ReturnToUser &back)
{
    markers_.clear();
    if ((!starting_.empty() && is_new_program(back)) || (!forking_.empty() && is_new_child(back)))
        return markers_;
    const auto found = pending_.find({back.address_space, back.pc, back.stack});
    if (found == pending_.end())
        return markers_;
    const std::uint64_t number = found->second.entry.number;
    // A child of vfork shares everything with its parent, and returns first.
    if (makes_process(number) && back.result == 0)
        return markers_;
    Pending call = std::move(found->second);
    pending_.erase(found);
    remove(starting_, Place{back.address_space, back.pc, back.stack});
    // The child may well get the processor after its parent.
    if (makes_process(number) && is_error(back.result))
        remove(forking_, Place{back.address_space, back.pc, back.stack});
    finish(call, back.result);
    return markers_;
}

void SystemCalls::finish(Pending &call, std::uint64_t result)
{
    // A path that was in no page at the entry has been brought there by the kernel.
    const bool late = call.path.empty();
    if (late)
        call.path = paths_of(call.entry);
    add(MarkerKind::syscall_exit, call.entry.address_space,
        {.number = static_cast<std::int64_t>(call.entry.number),
         .result = static_cast<std::int64_t>(result),
         .arguments = {call.id},
         .text = late ? call.path : ""});
    if (call.entry.number == SYS_close)
        processes_.in(call.entry.address_space).files.erase(call.entry.arguments[0]);
    if (is_error(result))
        return;
    if (opens_file(call.entry.number))
        processes_.in(call.entry.address_space).files[result] = call.path;
    if (call.entry.number == SYS_mmap)
        note_mapping(call, result);
}

void SystemCalls::note_mapping(const Pending &call, std::uint64_t result)
{
    const auto &[address, length, protection, flags, file, offset] = call.entry.arguments;
    if (!(protection & PROT_EXEC) || (flags & MAP_ANONYMOUS))
        return;
    Process &process = processes_.in(call.entry.address_space);
    const auto known = process.files.find(static_cast<std::uint32_t>(file));
    if (known == process.files.end())
        return;
    process.mappings.push_back({result, length, offset, known->second});
    add(MarkerKind::note, call.entry.address_space,
        {.arguments = {result, length, offset}, .text = "map " + known->second});
}

void SystemCalls::complete_image(Process &process)
{
    if (!process.start)
        return;
    const auto image = read_image(memory_, *process.start);
    if (!image)
        return;
    process.start.reset();
    for (const Mapping &mapping : *image) {
        process.mappings.push_back(mapping);
        add(MarkerKind::note, process.address_space,
            {.arguments = {mapping.base, mapping.length, mapping.file_offset},
             .text = "map " + mapping.path});
    }
}

bool SystemCalls::is_new_program(const ReturnToUser &back)
{
    if (!back.clear_registers)
        return false;
    std::optional<ProgramStart> start = read_program_start(memory_, back.stack, back.pc);
    if (!start)
        return false;
    // Of several calls that have not returned, the one that named this program; else the first.
    const auto caller = std::find_if(starting_.begin(), starting_.end(), [&](const Place &place) {
        const auto call = pending_.find(place);
        return call != pending_.end() && call->second.path == start->path;
    });
    const Place place = caller == starting_.end() ? starting_.front() : *caller;
    pending_.erase(place);
    remove(starting_, place);
    Process &process = processes_.replace(back.address_space);
    process_change_ = true;
    add(MarkerKind::process_start, back.address_space,
        {.arguments = {start->headers, start->entry, start->interpreter}, .text = start->path});
    process.start = std::move(start);
    return true;
}

bool SystemCalls::is_new_child(const ReturnToUser &back)
{
    if (back.result != 0)
        return false;
    const auto parent = std::find_if(forking_.begin(), forking_.end(), [&](const Place &place) {
        return place.pc == back.pc && place.stack == back.stack &&
               place.address_space != back.address_space;
    });
    if (parent == forking_.end())
        return false;
    const std::uint64_t from = parent->address_space;
    forking_.erase(parent);
    const Process original = processes_.in(from);
    Process &child = processes_.replace(back.address_space);
    process_change_ = true;
    child.start = original.start;
    child.mappings = original.mappings;
    child.files = original.files;
    add(MarkerKind::note, back.address_space, {.arguments = {from}, .text = "fork"});
    return true;
}

} // namespace fencepost::tracer
