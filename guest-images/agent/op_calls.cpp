// SPDX-License-Identifier: GPL-2.0-or-later
// See op_calls.h. Raw system calls where glibc's wrapper would do more than the one call.
#include "guest-images/agent/op_calls.h"

#include <algorithm>
#include <cerrno>
#include <cpuid.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace fencepost::agent {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::uint64_t kPage = 4096;

long error(int number)
{
    errno = number;
    return -1;
}

bool has_clwb()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 24));
}

void flush_lines(const char *from, const char *to)
{
    static const bool clwb = has_clwb();
    for (const char *line = from - reinterpret_cast<std::uintptr_t>(from) % kLine; line < to;
         line += kLine) {
        if (clwb)
            asm volatile("clwb %0" : : "m"(*line) : "memory");
        else
            asm volatile("clflush %0" : : "m"(*line) : "memory");
    }
}

std::string bytes(const Op &op, std::uint64_t offset)
{
    if (op.data.literal)
        return op.data.text;
    std::string data(op.data.length, '\0');
    for (std::uint64_t i = 0; i < op.data.length; ++i)
        data[i] = pattern_byte(op.data.seed, offset + i);
    return data;
}

long pwrite_data(const Op &op, int file, off_t offset)
{
    const std::string data = bytes(op, op.numbers[0]);
    if (!(fcntl(file, F_GETFL) & O_DIRECT))
        return pwrite(file, data.data(), data.size(), offset);
    void *aligned = nullptr;
    if (posix_memalign(&aligned, kPage, std::max<std::size_t>(data.size(), 1)) != 0)
        return error(ENOMEM);
    std::memcpy(aligned, data.data(), data.size());
    const long result = pwrite(file, aligned, data.size(), offset);
    const int kept = errno;
    free(aligned);
    errno = kept;
    return result;
}

long read_data(const Op &op, int file, off_t offset)
{
    const std::uint64_t length = op.kind == OpKind::read ? op.numbers[0] : op.numbers[1];
    std::string data(std::min(length, kOpsDataLimit), '\0');
    return op.kind == OpKind::read ? read(file, data.data(), data.size())
                                   : pread(file, data.data(), data.size(), offset);
}

} // namespace

TreeRange synced_pages(const Op &op)
{
    const std::uint64_t end = op.numbers[0] + op.numbers[1];
    const std::uint64_t first = op.numbers[0] / kPage * kPage;
    return {first, (end + kPage - 1) / kPage * kPage - first};
}

OpCalls::OpCalls(const OpsProgram &program, bool maps_keep_files)
    : maps_keep_files_(maps_keep_files), files_(std::max<std::size_t>(program.file_slots, 1), -1),
      maps_(std::max<std::size_t>(program.map_slots, 1))
{
}

long OpCalls::execute_on_map(const Op &op, OpMap &map)
{
    switch (op.kind) {
    case OpKind::map: {
        if (map.start)
            return error(EBUSY);
        void *start = mmap(nullptr, op.numbers[1], PROT_READ | PROT_WRITE, MAP_SHARED,
                           files_[op.slot2], static_cast<off_t>(op.numbers[0]));
        if (start == MAP_FAILED)
            return -1;
        map = {static_cast<char *>(start), op.numbers[1],
               maps_keep_files_ ? dup(files_[op.slot2]) : -1, op.numbers[0]};
        return 0;
    }
    case OpKind::store: {
        const std::string data = bytes(op, op.numbers[0]);
        if (!map.contains(op.numbers[0], data.size()))
            return error(ERANGE);
        std::memcpy(map.start + op.numbers[0], data.data(), data.size());
        return static_cast<long>(data.size());
    }
    case OpKind::flush:
        if (!map.contains(op.numbers[0], op.numbers[1]))
            return error(ERANGE);
        flush_lines(map.start + op.numbers[0], map.start + op.numbers[0] + op.numbers[1]);
        return 0;
    case OpKind::fence:
        asm volatile("sfence" : : : "memory");
        return 0;
    case OpKind::msync: {
        if (!map.contains(op.numbers[0], op.numbers[1]))
            return error(ERANGE);
        const TreeRange pages = synced_pages(op);
        return msync(map.start + pages.offset, pages.length, MS_SYNC);
    }
    default: {
        const long result = map.start ? munmap(map.start, map.length) : error(EINVAL);
        if (map.file >= 0)
            close(map.file);
        map = {};
        return result;
    }
    }
}

long OpCalls::execute_on_paths(const Op &op)
{
    const char *path = op.path.c_str();
    const char *path2 = op.path2.c_str();
    switch (op.kind) {
    case OpKind::mkdir:
        return mkdir(path, static_cast<mode_t>(op.numbers[0]));
    case OpKind::rmdir:
        return rmdir(path);
    case OpKind::unlink:
        return unlink(path);
    case OpKind::remove:
        return std::remove(path);
    case OpKind::rename:
        if (op.numbers[0] == 0)
            return rename(path, path2);
        return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, path2, op.numbers[0]);
    case OpKind::link:
        return link(path, path2);
    case OpKind::symlink:
        return symlink(path, path2);
    case OpKind::truncate:
        return truncate(path, static_cast<off_t>(op.numbers[0]));
    case OpKind::chmod:
        return chmod(path, static_cast<mode_t>(op.numbers[0]));
    case OpKind::setxattr: {
        const std::string data = bytes(op, 0);
        return setxattr(path, path2, data.data(), data.size(), 0);
    }
    case OpKind::removexattr:
        return removexattr(path, path2);
    case OpKind::sync:
        sync();
        return 0;
    default:
        return error(ENOSYS);
    }
}

long OpCalls::execute_on_file(const Op &op, int &file)
{
    const auto offset = static_cast<off_t>(op.numbers[0]);
    switch (op.kind) {
    case OpKind::open:
        if (file >= 0)
            return error(EBUSY);
        file = open(op.path.c_str(), static_cast<int>(op.numbers[0]) | O_CLOEXEC,
                    static_cast<mode_t>(op.numbers[1]));
        return file < 0 ? -1 : 0;
    case OpKind::close: {
        const int closed = file;
        file = -1;
        return close(closed);
    }
    case OpKind::ftruncate:
        return ftruncate(file, offset);
    case OpKind::write: {
        // The pattern goes by where the bytes land.
        const off_t at = op.data.literal ? 0 : lseek(file, 0, SEEK_CUR);
        const std::string data = bytes(op, at < 0 ? 0 : static_cast<std::uint64_t>(at));
        return write(file, data.data(), data.size());
    }
    case OpKind::pwrite:
        return pwrite_data(op, file, offset);
    case OpKind::read:
    case OpKind::pread:
        return read_data(op, file, offset);
    case OpKind::fallocate:
        return fallocate(file, static_cast<int>(op.numbers[0]), static_cast<off_t>(op.numbers[1]),
                         static_cast<off_t>(op.numbers[2]));
    case OpKind::fsync:
        return fsync(file);
    case OpKind::fdatasync:
        return fdatasync(file);
    case OpKind::syncfs:
        return syncfs(file);
    default:
        return execute_on_paths(op);
    }
}

long OpCalls::execute(const Op &op)
{
    if (op.kind >= OpKind::map && op.kind <= OpKind::unmap)
        return execute_on_map(op, maps_[op.slot]);
    return execute_on_file(op, files_[op.slot]);
}

} // namespace fencepost::agent
