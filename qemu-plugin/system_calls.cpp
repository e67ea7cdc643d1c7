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
    processes_.forget_files();
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

// What a call that makes a process shares with it.
std::uint64_t SystemCalls::clone_flags(const SystemCallEntry &entry)
{
    switch (entry.number) {
    case SYS_clone:
        return entry.arguments[0];
    case SYS_clone3: // flags are the first word of its structure
        return memory_.read_word(entry.arguments[0]).value_or(CLONE_VM);
    case SYS_vfork:
        return CLONE_VM | CLONE_VFORK;
    default:
        return 0;
    }
}

void SystemCalls::note_clone(Pending &call, Process &process, const Place &place)
{
    const std::uint64_t flags = clone_flags(call.entry);
    if (!(flags & CLONE_VM)) {
        forking_.push_back({place, process.files});
        return;
    }
    call.lends_memory = flags & CLONE_VFORK;
    // Two tables of descriptors in one address space cannot be told apart.
    if (!(flags & (CLONE_FILES | CLONE_VFORK)))
        process.files.lose_descriptors();
}

bool SystemCalls::lends_memory(std::uint64_t address_space) const
{
    return std::any_of(pending_.begin(), pending_.end(), [&](const auto &call) {
        return call.first.address_space == address_space && call.second.lends_memory;
    });
}

bool SystemCalls::ends_mappings(const SystemCallEntry &entry) const
{
    return (starts_program(entry.number) || entry.number == SYS_exit_group) &&
           !lends_memory(entry.address_space);
}

const std::vector<NewMarker> &SystemCalls::enter(const SystemCallEntry &entry)
{
    markers_.clear();
    const Place place = {entry.address_space, entry.next_pc, entry.stack};
    Process &process = processes_.in(entry.address_space);
    complete_image(process);
    process.newborn = false;
    process.ending = entry.number == SYS_exit || ends_mappings(entry);
    // The kernel restarts some calls by executing the instruction once more: still the same call.
    const auto before = pending_.find(place);
    if (before != pending_.end() && before->second.entry.number == entry.number)
        return markers_;
    Pending call = {entry, paths_of(entry), ++calls_};
    call.files = process.files.enter({entry.number, entry.arguments});
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
    if (starts_program(entry.number))
        starting_.push_back(place);
    if (makes_process(entry.number))
        note_clone(call, process, place);
    pending_[place] = std::move(call);
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
    processes_.in(back.address_space).ending = false;
    const std::uint64_t number = found->second.entry.number;
    // A child of vfork shares everything with its parent, and returns first.
    if (makes_process(number) && back.result == 0)
        return markers_;
    Pending call = std::move(found->second);
    pending_.erase(found);
    remove(starting_, Place{back.address_space, back.pc, back.stack});
    // The child may well get the processor after its parent.
    if (makes_process(number) && is_error(back.result))
        std::erase_if(forking_, [&](const Forking &each) {
            return each.place == Place{back.address_space, back.pc, back.stack};
        });
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
    if (is_error(result))
        return;
    // A descriptor of a child that borrows this memory is not one of the process.
    const bool opened = opens_file(call.entry.number) && !lends_memory(call.entry.address_space);
    processes_.in(call.entry.address_space)
        .files.leave({call.entry.number, call.entry.arguments}, call.files, result, call.path,
                     opened ? ++opened_ : 0);
    if (call.entry.number == SYS_mmap)
        note_mapping(call, result);
}

void SystemCalls::note_mapping(const Pending &call, std::uint64_t result)
{
    const auto &[address, length, protection, flags, file, offset] = call.entry.arguments;
    if (!(protection & PROT_EXEC) || (flags & MAP_ANONYMOUS))
        return;
    Process &process = processes_.in(call.entry.address_space);
    const std::string path = process.files.path_of(file);
    if (path.empty())
        return;
    process.mappings.push_back({result, length, offset, path});
    add(MarkerKind::note, call.entry.address_space,
        {.arguments = {result, length, offset}, .text = "map " + path});
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

Process &SystemCalls::begin_process(std::uint64_t address_space)
{
    process_change_ = true;
    // Calls of a process that was killed in them: the same program makes its calls at the same
    // places.
    std::erase_if(pending_,
                  [&](const auto &call) { return call.first.address_space == address_space; });
    std::erase_if(starting_,
                  [&](const Place &place) { return place.address_space == address_space; });
    return processes_.replace(address_space);
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
    Process &process = begin_process(back.address_space);
    add(MarkerKind::process_start, back.address_space,
        {.arguments = {start->headers, start->entry, start->interpreter}, .text = start->path});
    process.start = std::move(start);
    return true;
}

bool SystemCalls::is_new_child(const ReturnToUser &back)
{
    // A child's first instructions fault, and the kernel returns to them once more.
    if (back.result != 0 || processes_.in(back.address_space).newborn)
        return false;
    const auto is_parent = [&](const Forking &call) {
        return call.place.pc == back.pc && call.place.stack == back.stack &&
               call.place.address_space != back.address_space;
    };
    const auto parent = std::find_if(forking_.begin(), forking_.end(), is_parent);
    if (parent == forking_.end())
        return false;
    const std::uint64_t from = parent->place.address_space;
    const bool certain = std::none_of(parent + 1, forking_.end(), [&](const Forking &call) {
        return is_parent(call) && call.place.address_space != from;
    });
    FileTable files = std::move(parent->files);
    forking_.erase(parent);
    const Process original = processes_.in(from);
    Process &child = begin_process(back.address_space);
    child.newborn = true;
    child.start = original.start;
    child.mappings = original.mappings;
    // The parent may have gone on, and made another child, before this one began.
    files.keep_common(original.files);
    if (certain)
        child.files = std::move(files);
    add(MarkerKind::note, back.address_space, {.arguments = {from}, .text = "fork"});
    return true;
}

} // namespace fencepost::tracer
