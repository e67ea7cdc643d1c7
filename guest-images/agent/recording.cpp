// SPDX-License-Identifier: GPL-2.0-or-later
// See recording.h.
#include "guest-images/agent/recording.h"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/descriptor.h"
#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/job.h"
#include "guest-images/agent/kernel_log.h"
#include "guest-images/agent/mailbox_device.h"
#include "guest-images/agent/mount_requests.h"
#include "guest-images/agent/observed_run.h"
#include "guest-images/agent/ops_executor.h"
#include "guest-images/agent/run_request.h"
#include "guest-images/agent/script_marks.h"
#include "guest-images/agent/step_note.h"
#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::agent {

namespace {

constexpr std::size_t kTextLimit = 24 << 20; // of a file of /proc

// Files of /proc are made while they are read, so they are read in one go from one descriptor.
std::string read_text(const char *path)
{
    const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
    std::string text;
    char buffer[65536];
    for (ssize_t got;
         file && text.size() < kTextLimit && (got = read(file.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    return text;
}

template <typename Reply> bool succeeded(const Outcome<Reply> &outcome, StepReport &report)
{
    if (const auto *failed = std::get_if<Failure>(&outcome))
        report.failure = failed->message;
    return report.failure.empty();
}

bool ran(const Outcome<RunReply> &outcome, StepReport &report)
{
    if (!succeeded(outcome, report))
        return false;
    report.run = *std::get_if<RunReply>(&outcome);
    return report.run.success();
}

bool do_step(const JobStep &step, const ObservationPlan &observe, StepReport &report)
{
    const bool observed = !observe.root.empty();
    switch (step.kind) {
    case StepKind::run:
        if (!observed)
            return ran(run_command(step.command), report);
        return ran(run_in_child(step.command,
                                [&] {
                                    Observer observer(observe);
                                    return run_observed(step.command.argv, observer);
                                }),
                   report);
    case StepKind::ops:
        return ran(run_in_child(step.command,
                                [&] {
                                    if (!observed)
                                        return execute_ops(step.ops);
                                    Observer observer(observe);
                                    return execute_ops(step.ops, &observer);
                                }),
                   report);
    case StepKind::mount:
        return succeeded(mount_file_system(step.mount), report);
    case StepKind::unmount:
        return succeeded(unmount_file_system({step.mount.target, 0}), report);
    }
    return false;
}

// In the trace before each step, so that one can tell the workload's events from the mount's.
const char *step_note(StepKind kind)
{
    switch (kind) {
    case StepKind::run:
    case StepKind::ops:
        return kWorkloadNote;
    case StepKind::mount:
        return kMountNote;
    case StepKind::unmount:
        return kUnmountNote;
    }
    return kWorkloadNote;
}

bool write_files(const Job &job, JobReport &report)
{
    for (const JobFile &file : job.files) {
        StepReport written;
        if (succeeded(write_file({file.path, file.mode, 0, true, file.contents}), written))
            continue;
        report.steps.push_back(written);
        return false;
    }
    return true;
}

void do_steps(const Job &job, JobReport &report)
{
    for (const JobStep &step : job.steps) {
        if (job.recorded)
            fencepost_mark(FENCEPOST_MARKER_NOTE | FENCEPOST_MARKER_SHARED, 0, step_note(step.kind),
                           0);
        const pid_t marks = step.operations.empty() ? -1 : start_script_marks(step.operations);
        if (step.system_calls)
            fencepost_syscalls_on();
        const bool good = do_step(step, job.observe, report.steps.emplace_back());
        if (step.system_calls)
            fencepost_syscalls_off();
        if (marks > 0)
            kill(marks, SIGKILL);
        if (!good)
            return;
    }
}

class RecordingGuest {
public:
    explicit RecordingGuest(Mailbox mailbox) : mailbox_(mailbox) {}

    void freeze(const Hello &hello)
    {
        BootReport report = {hello, read_text("/proc/modules"), read_text("/proc/kallsyms")};
        modules_ = report.modules;
        answer(MailboxState::ready, encode_job(report));
        keep_one_cpu();
        stop_machine();
    }

    void work()
    {
        const std::optional<std::string> request = mailbox_.take(MailboxPart::request);
        Job job;
        if (!request || !decode_job(*request, job) || !all_sound(job)) {
            answer(MailboxState::refused, "the request in the mailbox is malformed");
            return;
        }
        mailbox_.set_state(MailboxState::working);
        // A set-up has one CPU to the end: it repeats, and waiting costs it nothing.
        if (job.recorded) {
            keep_awake();
            restore_cpus();
        }
        JobReport report;
        KernelLogTail log;
        const std::uint64_t start = monotonic_usec();
        vary_system(job.observe.variation);
        if (write_files(job, report)) {
            if (job.recorded)
                fencepost_record_on();
            do_steps(job, report);
            report.elapsed_usec = monotonic_usec() - start;
            if (job.recorded)
                end_recording();
        }
        if (!job.observe.root.empty())
            report.observations = read_observations();
        report.kernel_log = log.text();
        report.modules = read_text("/proc/modules");
        if (report.modules != modules_)
            report.kallsyms = read_text("/proc/kallsyms");
        answer(MailboxState::finished, encode_job(report));
    }

private:
    static bool all_sound(const Job &job)
    {
        return std::all_of(job.steps.begin(), job.steps.end(),
                           [](const JobStep &step) { return is_sound(step.ops); });
    }

    // Taking a CPU offline executes wbinvd, which would be a flush of everything that the workload
    // forgot to flush: its end comes first. What reaches PM until the machine stands still is in
    // the final image, which the host takes then, and the tracer keeps it apart.
    void end_recording()
    {
        fencepost_workload_end();
        keep_one_cpu();
        mailbox_.set_state(MailboxState::recorded);
        stop_machine();
    }

    void answer(MailboxState state, std::string_view message)
    {
        if (!mailbox_.put(MailboxPart::answer, message)) {
            state = MailboxState::refused;
            [[maybe_unused]] const bool fits =
                mailbox_.put(MailboxPart::answer, "the answer does not fit into the mailbox");
        }
        mailbox_.set_state(state);
    }

    Mailbox mailbox_;
    std::string modules_;
};

} // namespace

void run_recording_guest(const Hello &hello)
{
    // As run_command() wants it; the first process adopts orphans anyway.
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, nullptr);
    if (std::optional<Mailbox> mailbox = find_mailbox()) {
        RecordingGuest guest(*mailbox);
        guest.freeze(hello);
        guest.work();
    }
    for (;;)
        stop_machine();
}

} // namespace fencepost::agent
