// SPDX-License-Identifier: GPL-2.0-or-later
// See ops_executor.h.
#include "guest-images/agent/ops_executor.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-images/agent/op_calls.h"
#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::agent {

namespace {

class Executor {
public:
    Executor(const OpsProgram &program, Observer *observer)
        : program_(program), observer_(observer), calls_(program, observer != nullptr)
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
    void observe(const Op &op, long result);
    void promise_write(const Op &op, int file, Observation &observation) const;

    const OpsProgram &program_;
    Observer *observer_;
    OpCalls calls_;
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
        const long result = calls_.execute(op);
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
        file = calls_.file(op.slot);
    } else if (op.kind == OpKind::msync) {
        const TreeRange pages = synced_pages(op);
        if (pages.length != 0)
            observation.durable = Durable::file_data;
        file = calls_.map(op.slot).file;
        observation.range = {calls_.map(op.slot).file_offset + pages.offset, pages.length};
    } else if (op.kind == OpKind::store) {
        file = calls_.map(op.slot).file;
        observation.mapped = true;
    } else if (op.kind == OpKind::write || op.kind == OpKind::pwrite) {
        file = calls_.file(op.slot);
        promise_write(op, file, observation);
    } else if (op.kind == OpKind::ftruncate || op.kind == OpKind::fallocate) {
        file = calls_.file(op.slot);
    }
    observation.exchanged = op.kind == OpKind::rename && (op.numbers[0] & RENAME_EXCHANGE);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0)
        observation.inode = status.st_ino;
    if (result < 0)
        observation.durable = Durable::nothing;
    observer_->note(std::move(observation));
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
