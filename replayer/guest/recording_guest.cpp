// SPDX-License-Identifier: GPL-2.0-or-later
// See recording_guest.h.
#include "replayer/guest/recording_guest.h"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "replayer/guest/judged/log_patterns.h"

namespace fencepost::guest {

namespace fs = std::filesystem;
using agent::Mailbox;
using agent::MailboxPart;
using agent::MailboxState;

namespace {

constexpr std::chrono::milliseconds kTick(200);
constexpr std::chrono::seconds kMonitorTime(30);

std::span<std::byte> map_mailbox(const fs::path &path)
{
    const Fd file = open_file(path, O_RDWR);
    void *mapped =
        mmap(nullptr, agent::kMailboxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED)
        fail_errno(fmt::format("cannot map {}", path.string()));
    return {static_cast<std::byte *>(mapped), agent::kMailboxBytes};
}

void unmap(std::span<std::byte> memory)
{
    if (!memory.empty())
        munmap(memory.data(), memory.size());
}

} // namespace

const char *to_string(RecordingStop stop)
{
    switch (stop) {
    case RecordingStop::by_itself:
        return "by_itself";
    case RecordingStop::panicked:
        return "panicked";
    case RecordingStop::powered_off:
        return "powered_off";
    case RecordingStop::rebooted:
        return "rebooted";
    case RecordingStop::machine_died:
        return "machine_died";
    case RecordingStop::time_over:
        return "time_over";
    }
    return "unknown";
}

void make_mailbox(const fs::path &path, std::string_view request)
{
    std::error_code ignored;
    fs::remove(path, ignored);
    {
        const Fd file = open_file(path, O_RDWR | O_CREAT | O_EXCL);
        if (ftruncate(file.get(), static_cast<off_t>(agent::kMailboxBytes)) < 0)
            fail_errno(fmt::format("cannot size {}", path.string()));
    }
    const std::span<std::byte> memory = map_mailbox(path);
    Mailbox mailbox(memory);
    mailbox.clear();
    const bool fits = mailbox.put(MailboxPart::request, request);
    unmap(memory);
    if (!fits)
        fail(ErrorKind::usage, "the workload with its files has {} bytes, a guest takes {} at most",
             request.size(), Mailbox::capacity(MailboxPart::request));
}

RecordingGuest::RecordingGuest(std::unique_ptr<Machine> machine, RecordingFiles files)
    : files_(std::move(files)), memory_(map_mailbox(files_.mailbox))
{
    if (dynamic_cast<QemuMachine *>(machine.get()) == nullptr)
        fail(ErrorKind::usage, "recordings are made with the backend 'process' only");
    machine_.reset(static_cast<QemuMachine *>(machine.release()));
}

RecordingGuest::~RecordingGuest()
{
    unmap(memory_);
}

agent::BootReport RecordingGuest::wait_for_boot(Deadline deadline)
{
    const RecordingStop stop = wait_for_stop(0, deadline, {});
    if (stop != RecordingStop::by_itself || state() != MailboxState::ready)
        fail(ErrorKind::guest,
             "the guest did not come up for recording ({}, mailbox {}); its console ends with: {}",
             to_string(stop), agent::to_string(state()), last_line(console()));
    agent::BootReport report;
    if (!agent::decode_job(take_answer(), report))
        fail(ErrorKind::guest, "the guest's agent says nonsense about itself");
    return report;
}

RecordingStop RecordingGuest::resume(Deadline deadline, const std::function<void()> &tick)
{
    const std::size_t stops_before = machine_->stop_count();
    machine_->tell("cont", Deadline::after(kMonitorTime));
    return wait_for_stop(stops_before, deadline, tick);
}

RecordingStop RecordingGuest::wait_for_stop(std::size_t stops_before, Deadline deadline,
                                            const std::function<void()> &tick)
{
    for (;;) {
        std::array<pollfd, 3> waited = {{{machine_->monitor_fd(), POLLIN, 0},
                                         {machine_->end_fd(), POLLIN, 0},
                                         {interrupt_fd(), POLLIN, 0}}};
        const int left = deadline.poll_timeout();
        const int step = static_cast<int>(kTick.count());
        poll(waited.data(), waited.size(), left < 0 ? step : std::min(left, step));
        if (waited[2].revents)
            throw_if_interrupted();
        if (waited[1].revents) {
            // Before the end is looked up, as it is in what QEMU said last.
            const auto end = machine_->poll_end();
            if (console().find(kPanic) != std::string::npos)
                return RecordingStop::panicked;
            return end == MachineEnd::powered_off ? RecordingStop::powered_off
                   : end == MachineEnd::reset     ? RecordingStop::rebooted
                                                  : RecordingStop::machine_died;
        }
        if (machine_->stop_count() > stops_before) {
            // A kernel with a driver for the port stops the machine when it panics.
            const bool panicked = console().find(kPanic) != std::string::npos;
            return panicked ? RecordingStop::panicked : RecordingStop::by_itself;
        }
        if (tick)
            tick();
        if (deadline.passed())
            return RecordingStop::time_over;
    }
}

MailboxState RecordingGuest::state() const
{
    return Mailbox(memory_).state();
}

std::string RecordingGuest::take_answer() const
{
    auto answer = Mailbox(memory_).take(MailboxPart::answer);
    if (!answer)
        fail(ErrorKind::guest,
             "the guest left an answer with a wrong length or check sum in its mailbox");
    return std::move(*answer);
}

agent::JobReport RecordingGuest::report() const
{
    const std::string answer = take_answer();
    if (state() == MailboxState::refused)
        fail(ErrorKind::guest, "the guest's agent refused its job: {}", answer);
    agent::JobReport report;
    if (state() != MailboxState::finished || !agent::decode_job(answer, report))
        fail(ErrorKind::guest, "the guest's agent left no report (mailbox {})",
             agent::to_string(state()));
    return report;
}

std::string RecordingGuest::console() const
{
    return fs::exists(files_.console) ? read_file(files_.console) : "";
}

bool RecordingGuest::quit(Deadline deadline)
{
    if (machine_->poll_end())
        return true;
    try {
        machine_->tell("quit", deadline);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        // It may have ended before it answered; the wait below tells.
    }
    return machine_->wait_end(deadline);
}

} // namespace fencepost::guest
