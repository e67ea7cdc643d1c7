// SPDX-License-Identifier: GPL-2.0-or-later
// See file_table.h.
#include "qemu-plugin/file_table.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace fencepost::tracer {

namespace {

bool is_shared(std::uint64_t flags)
{
    return (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
}

} // namespace

bool opens_file(std::uint64_t system_call)
{
    return system_call == SYS_open || system_call == SYS_openat || system_call == SYS_openat2 ||
           system_call == SYS_creat;
}

FileTable::Entered FileTable::enter(const Call &call)
{
    const auto &arguments = call.arguments;
    Entered entered;
    switch (call.number) {
    case SYS_close:
        close(arguments[0], arguments[0]);
        break;
    case SYS_close_range:
        close(arguments[0], arguments[1]);
        break;
    case SYS_dup2:
    case SYS_dup3:
        close(arguments[1], arguments[1]);
        break;
    case SYS_unshare: // the thread's own from here on, where a table is kept for all
        if (arguments[0] & CLONE_FILES)
            lose_descriptors();
        break;
    case SYS_io_uring_setup: // opens and closes without a call
        lose_descriptors();
        break;
    case SYS_mmap:
        if (is_shared(arguments[3]) && !(arguments[3] & MAP_ANONYMOUS))
            entered.file = id_of(arguments[4]);
        break;
    case SYS_mremap:
        entered.moved = shared_.at(arguments[0]);
        break;
    default:
        break;
    }
    for (const AddressRange &range : remapped_by(call.number, arguments))
        shared_.unmap(range);
    return entered;
}

void FileTable::leave(const Call &call, const Entered &entered, std::uint64_t result,
                      const std::string &path, std::uint64_t id)
{
    if (opens_file(call.number)) {
        open_[static_cast<std::uint32_t>(result)] = {path, followed_ ? id : 0};
    } else if (call.number == SYS_mmap) {
        const AddressRange range = {result, call.arguments[1]};
        shared_.unmap(range);
        // Still the same: no other thread has closed it meanwhile.
        if (entered.file != 0 && entered.file == id_of(call.arguments[4]))
            shared_.map(range, {entered.file, call.arguments[5]});
    } else if (call.number == SYS_mremap) {
        const AddressRange range = {result, call.arguments[2]};
        shared_.unmap(range);
        if (entered.moved)
            shared_.map(range, *entered.moved);
    }
}

void FileTable::close(std::uint64_t first, std::uint64_t last)
{
    if (first > last)
        return;
    open_.erase(open_.lower_bound(static_cast<std::uint32_t>(first)),
                open_.upper_bound(static_cast<std::uint32_t>(last)));
}

void FileTable::lose_descriptors()
{
    followed_ = false;
    for (auto &[descriptor, file] : open_)
        file.id = 0;
}

void FileTable::keep_common(const FileTable &other)
{
    followed_ = followed_ && other.followed_;
    std::erase_if(open_, [&](const auto &file) {
        const auto found = other.open_.find(file.first);
        return found == other.open_.end() || found->second != file.second;
    });
    shared_.keep_common(other.shared_);
}

std::uint64_t FileTable::id_of(std::uint64_t descriptor) const
{
    const auto found = open_.find(static_cast<std::uint32_t>(descriptor));
    return found == open_.end() ? 0 : found->second.id;
}

std::string FileTable::path_of(std::uint64_t descriptor) const
{
    const auto found = open_.find(static_cast<std::uint32_t>(descriptor));
    return found == open_.end() ? "" : found->second.path;
}

} // namespace fencepost::tracer
