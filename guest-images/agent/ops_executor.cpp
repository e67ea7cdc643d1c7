// SPDX-License-Identifier: GPL-2.0-or-later
// See ops_executor.h. Raw system calls where glibc's wrapper would do more than the one call.
#include "guest-images/agent/ops_executor.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cpuid.h>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::agent {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::uint64_t kPage = 4096;

struct Map {
    char *start = nullptr;
    std::uint64_t length = 0;
    int file = -1; // a descriptor of its own
    std::uint64_t file_offset = 0;

    bool contains(std::uint64_t offset, std::uint64_t size) const
    {
        return start && offset <= length && size <= length - offset;
    }
};

// Executed at -1 and errno like a system call.
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

// What msync syncs: whole pages, of the map.
TreeRange synced_pages(const Op &op)
{
    const std::uint64_t end = op.numbers[0] + op.numbers[1];
    const std::uint64_t first = op.numbers[0] / kPage * kPage;
    return {first, (end + kPage - 1) / kPage * kPage - first};
}

class Executor {
public:
    Executor(const OpsProgram &program, Observer *observer)
        : program_(program), observer_(observer),
          files_(std::max<std::size_t>(program.file_slots, 1), -1),
          maps_(std::max<std::size_t>(program.map_slots, 1))
    {
    }

    int run()
    {
        for (const OpsPhase &phase : program_.phases) {
            if (phase.threads.size() == 1)
                run_thread(phase.threads.front());
            else
                run_threads(phase);
            if (failed_)
                return 1;
        }
        return 0;
    }

private:
    struct Started {
        Executor *executor;
        const OpsThread *thread;
        pthread_t id;
    };

    void run_threads(const OpsPhase &phase);
    void run_thread(const OpsThread &thread);
    void tell_failure(const Op &op, int error_number);
    void begin_test();
    long execute(const Op &op);
    long execute_on_map(const Op &op, Map &map);
    std::string bytes(const Op &op, std::uint64_t offset) const;

    void observe(const Op &op, long result);
    void promise_write(const Op &op, int file, Observation &observation) const;

    const OpsProgram &program_;
    Observer *observer_;
    std::vector<int> files_;
    std::vector<Map> maps_;
    std::atomic<bool> failed_ = false;
};

void Executor::run_threads(const OpsPhase &phase)
{
    std::vector<Started> started;
    started.reserve(phase.threads.size());
    for (const OpsThread &thread : phase.threads) {
        started.push_back({this, &thread, {}});
        const auto entry = [](void *argument) -> void * {
            const auto *self = static_cast<const Started *>(argument);
            self->executor->run_thread(*self->thread);
            return nullptr;
        };
        if (pthread_create(&started.back().id, nullptr, entry, &started.back()) != 0) {
            std::fprintf(stderr, "cannot start a thread\n");
            failed_ = true;
            started.pop_back();
            break;
        }
    }
    for (const Started &one : started)
        pthread_join(one.id, nullptr);
}

void Executor::run_thread(const OpsThread &thread)
{
    for (const Op &op : thread.ops) {
        if (failed_)
            return;
        if (op.kind == OpKind::checkpoint) {
            fencepost_checkpoint(op.numbers[0], op.text.c_str());
            continue;
        }
        if (op.kind == OpKind::mark) {
            begin_test();
            continue;
        }
        if (op.marked)
            fencepost_op_begin(op.number, op.text.c_str());
        errno = 0;
        const long result = execute(op);
        const int error_number = result < 0 ? errno : 0;
        if (op.marked)
            fencepost_op_end(op.number, result < 0 ? -error_number : result);
        if (observer_ && op.marked)
            observe(op, result < 0 ? -error_number : result);
        if (result < 0 && op.failure != OpFailure::is_result)
            tell_failure(op, error_number);
    }
}

// A later operation may need what this one should have made, so it is told even if it is no
// trouble.
void Executor::tell_failure(const Op &op, int error_number)
{
    failed_ = failed_ || op.failure == OpFailure::ends || !is_explained_by_arguments(error_number);
    std::fprintf(stderr, "line %u: %s: %s\n", op.line, op.text.c_str(),
                 std::strerror(error_number));
}

// The fence is for what sync leaves in flight: XFS does not fence bytes that were written with DAX.
void Executor::begin_test()
{
    sync();
    asm volatile("sfence" : : : "memory");
    if (observer_)
        observer_->note({});
    fencepost_checkpoint(0, FENCEPOST_MARK_TEXT);
}

void Executor::promise_write(const Op &op, int file, Observation &observation) const
{
    const int flags = fcntl(file, F_GETFL);
    struct stat status;
    if (flags < 0 || fstat(file, &status) < 0)
        return;
    // Where the write ended; Linux appends with O_APPEND whatever offset pwrite is told.
    const off_t end = flags & O_APPEND ? status.st_size
                      : op.kind == OpKind::pwrite
                          ? static_cast<off_t>(op.numbers[0]) + observation.result
                          : lseek(file, 0, SEEK_CUR);
    observer_->promise_write(observation, flags,
                             static_cast<std::uint64_t>(end - observation.result));
}

// What the operation made durable, and the tree after it.
void Executor::observe(const Op &op, long result)
{
    Observation observation;
    observation.moment = Moment::end;
    observation.operation = op.number;
    observation.result = result;
    int file = -1;
    if (op.kind == OpKind::sync || op.kind == OpKind::syncfs) {
        observation.durable = Durable::all;
    } else if (op.kind == OpKind::fsync || op.kind == OpKind::fdatasync) {
        observation.durable = op.kind == OpKind::fsync ? Durable::file : Durable::file_data;
        file = files_[op.slot];
    } else if (op.kind == OpKind::msync) {
        const TreeRange pages = synced_pages(op);
        if (pages.length != 0)
            observation.durable = Durable::file_data;
        file = maps_[op.slot].file;
        observation.range = {maps_[op.slot].file_offset + pages.offset, pages.length};
    } else if (op.kind == OpKind::store) {
        file = maps_[op.slot].file;
        observation.mapped = true;
    } else if (op.kind == OpKind::write || op.kind == OpKind::pwrite) {
        file = files_[op.slot];
        promise_write(op, file, observation);
    } else if (op.kind == OpKind::ftruncate || op.kind == OpKind::fallocate) {
        file = files_[op.slot];
    }
    observation.exchanged = op.kind == OpKind::rename && (op.numbers[0] & RENAME_EXCHANGE);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0)
        observation.inode = status.st_ino;
    if (result < 0)
        observation.durable = Durable::nothing;
    observer_->note(std::move(observation));
}

std::string Executor::bytes(const Op &op, std::uint64_t offset) const
{
    if (op.data.literal)
        return op.data.text;
    std::string data(op.data.length, '\0');
    for (std::uint64_t i = 0; i < op.data.length; ++i)
        data[i] = pattern_byte(op.data.seed, offset + i);
    return data;
}

long Executor::execute_on_map(const Op &op, Map &map)
{
    switch (op.kind) {
    case OpKind::map: {
        if (map.start)
            return error(EBUSY);
        void *start = mmap(nullptr, op.numbers[1], PROT_READ | PROT_WRITE, MAP_SHARED,
                           files_[op.slot2], static_cast<off_t>(op.numbers[0]));
        if (start == MAP_FAILED)
            return -1;
        map = {static_cast<char *>(start), op.numbers[1], observer_ ? dup(files_[op.slot2]) : -1,
               op.numbers[0]};
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

long Executor::execute(const Op &op)
{
    if (op.kind >= OpKind::map && op.kind <= OpKind::unmap)
        return execute_on_map(op, maps_[op.slot]);
    int &file = files_[op.slot];
    const char *path = op.path.c_str();
    const char *path2 = op.path2.c_str();
    const auto offset = static_cast<off_t>(op.numbers[0]);
    switch (op.kind) {
    case OpKind::open:
        if (file >= 0)
            return error(EBUSY);
        file = open(path, static_cast<int>(op.numbers[0]) | O_CLOEXEC,
                    static_cast<mode_t>(op.numbers[1]));
        return file < 0 ? -1 : 0;
    case OpKind::close: {
        const int closed = file;
        file = -1;
        return close(closed);
    }
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
        return truncate(path, offset);
    case OpKind::ftruncate:
        return ftruncate(file, offset);
    case OpKind::write: {
        // The pattern goes by where the bytes land.
        const off_t at = op.data.literal ? 0 : lseek(file, 0, SEEK_CUR);
        const std::string data = bytes(op, at < 0 ? 0 : static_cast<std::uint64_t>(at));
        return write(file, data.data(), data.size());
    }
    case OpKind::pwrite: {
        std::string data = bytes(op, op.numbers[0]);
        if (!(fcntl(file, F_GETFL) & O_DIRECT))
            return pwrite(file, data.data(), data.size(), offset);
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 4096, std::max<std::size_t>(data.size(), 1)) != 0)
            return error(ENOMEM);
        std::memcpy(aligned, data.data(), data.size());
        const long result = pwrite(file, aligned, data.size(), offset);
        const int kept = errno;
        free(aligned);
        errno = kept;
        return result;
    }
    case OpKind::read:
    case OpKind::pread: {
        const std::uint64_t length = op.kind == OpKind::read ? op.numbers[0] : op.numbers[1];
        std::string data(std::min(length, kOpsDataLimit), '\0');
        return op.kind == OpKind::read ? read(file, data.data(), data.size())
                                       : pread(file, data.data(), data.size(), offset);
    }
    case OpKind::fallocate:
        return fallocate(file, static_cast<int>(op.numbers[0]), static_cast<off_t>(op.numbers[1]),
                         static_cast<off_t>(op.numbers[2]));
    case OpKind::fsync:
        return fsync(file);
    case OpKind::fdatasync:
        return fdatasync(file);
    case OpKind::syncfs:
        return syncfs(file);
    case OpKind::sync:
        sync();
        return 0;
    case OpKind::chmod:
        return chmod(path, static_cast<mode_t>(op.numbers[0]));
    case OpKind::setxattr: {
        const std::string data = bytes(op, 0);
        return setxattr(path, path2, data.data(), data.size(), 0);
    }
    case OpKind::removexattr:
        return removexattr(path, path2);
    default:
        return error(ENOSYS);
    }
}

bool has_mark(const OpsProgram &program)
{
    for (const OpsPhase &phase : program.phases)
        for (const OpsThread &thread : phase.threads)
            for (const Op &op : thread.ops)
                if (op.kind == OpKind::mark)
                    return true;
    return false;
}

} // namespace

bool is_explained_by_arguments(int error_number)
{
    switch (error_number) {
    case EACCES:
    case EBADF:
    case EBUSY:
    case EEXIST:
    case EFBIG:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case EMLINK:
    case ENAMETOOLONG:
    case ENODATA:
    case ENOENT:
    case ENOTDIR:
    case ENOTEMPTY:
    case EOPNOTSUPP:
    case EPERM:
    case ERANGE:
    case ESPIPE:
    case EXDEV:
        return true;
    default:
        return false;
    }
}

int execute_ops(const OpsProgram &program, Observer *observer)
{
    // The pattern and the markers' texts are as written, whatever the caller's umask was.
    umask(0);
    if (observer && !has_mark(program))
        observer->note({});
    const int result = Executor(program, observer).run();
    if (observer) {
        Observation end;
        end.moment = Moment::end;
        end.result = result;
        observer->note(std::move(end), false);
    }
    return result;
}

} // namespace fencepost::agent
