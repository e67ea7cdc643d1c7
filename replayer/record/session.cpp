// SPDX-License-Identifier: GPL-2.0-or-later
// See session.h.
#include "replayer/record/session.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/guest/judged/kernel_crash.h"
#include "replayer/guest/judged/log_patterns.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/record/jobs.h"
#include "trace/writer.h"

namespace fencepost::record {

using run::WorkloadEnd;

namespace fs = std::filesystem;
using namespace fencepost::guest;
using agent::MailboxState;

namespace {

constexpr std::chrono::minutes kRestoreTime(2);
constexpr std::chrono::minutes kSetupTime(15);
constexpr std::chrono::minutes kReportTime(2);
// A plugin has its last events to write when QEMU is told to quit.
constexpr std::chrono::minutes kQuitTime(5);

std::string what_went_wrong(const agent::StepReport &step)
{
    if (!step.failure.empty())
        return step.failure;
    const std::string words =
        last_line(step.run.errors.empty() ? step.run.output : step.run.errors);
    switch (step.run.end) {
    case agent::RunEnd::timed_out:
        return "it was still running when its time was over";
    case agent::RunEnd::signalled:
        return fmt::format("signal {}{}{}", step.run.code, words.empty() ? "" : ": ", words);
    case agent::RunEnd::exited:
        return fmt::format("exit status {}{}{}", step.run.code, words.empty() ? "" : ": ", words);
    }
    return words;
}

// Why a mount failed is in the kernel's log; its errno says little.
std::string kernels_words(const agent::Job &job, const agent::JobReport &report, std::size_t step)
{
    if (step >= job.steps.size() || job.steps[step].kind != agent::StepKind::mount)
        return "";
    const std::string words = last_kernel_words(report.kernel_log);
    return words.empty() ? "" : "; last kernel message: " + words;
}

// Those that failed as they may, from what the agent says about them.
std::string failed_operations(const std::string &lines)
{
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    if (count == 0)
        return {};
    return fmt::format("; {} operation{} failed as {} may: {}{}", count, count == 1 ? "" : "s",
                       count == 1 ? "it" : "they", last_line(lines),
                       count == 1 ? "" : " (the last)");
}

bool good(const agent::StepReport &step)
{
    return step.failure.empty() && step.run.success();
}

} // namespace

Session::Session(TemplateStore &templates, const Template &source, const run::Inputs &inputs,
                 const fs::path &cache, const RecordProgress &progress)
    : templates_(templates), source_(source), inputs_(inputs), progress_(progress),
      scratch_(cache), files_{scratch_.path() / "mailbox", scratch_.path() / "console"}
{
    for (std::size_t i = 0; i < inputs_.config.pm.size(); ++i) {
        pm_files_.push_back(scratch_.path() / fmt::format("pm{}", i));
        create_pm_file(pm_files_.back(), inputs_.config.pm[i]);
    }
}

void Session::set_up()
{
    if (inputs_.setup.steps.empty())
        return;
    make_mailbox(files_.mailbox, agent::encode_job(inputs_.setup));
    guest_ =
        templates_.restore_recording(source_, pm_files_, files_, Deadline::after(kRestoreTime));
    const RecordingStop stop = guest_->resume(Deadline::after(kSetupTime));
    if (stop != RecordingStop::by_itself)
        fail(ErrorKind::guest,
             "the guest did not get through the set-up ({}); its console ends with: {}",
             guest::to_string(stop), last_line(guest_->console()));
    const agent::JobReport report = guest_->report();
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        if (good(report.steps[i]))
            continue;
        const std::string what =
            i < inputs_.setup.steps.size() ? describe(inputs_.setup.steps[i]) : "a step";
        fail(ErrorKind::guest, "the set-up failed in the guest: {}: {}{}", what,
             what_went_wrong(report.steps[i]), kernels_words(inputs_.setup, report, i));
    }
    guest_->quit(Deadline::after(kQuitTime));
    guest_.reset();
}

void Session::prepare_trace(const fs::path &trace)
{
    trace_ = trace;
    trace::TraceWriter writer = trace::TraceWriter::create(trace);
    writer.put_meta("tool_version", FENCEPOST_VERSION);
    writer.put_meta("qemu_version", source_.qemu);
    writer.put_meta("image", source_.config.image);
    writer.put_meta("image_digest", source_.image_digest);
    writer.put_meta("kernel_release", source_.kernel_release);
    writer.put_meta("spec", inputs_.spec);
    writer.put_meta("stacks", inputs_.stacks ? "on" : "off");
    for (std::size_t i = 0; i < pm_files_.size(); ++i) {
        trace::Region region;
        region.id = static_cast<trace::RegionId>(i + 1);
        region.name =
            i < source_.pm_devices.size() ? source_.pm_devices[i].name : fmt::format("pmem{}", i);
        region.base = pm_base(inputs_.config, i);
        region.size = inputs_.config.pm[i].size;
        region.file = pm_files_[i].filename().string();
        writer.put_region(region);
        writer.put_initial_image(region, pm_files_[i]);
    }
    writer.leave_prepared();
}

void Session::count_events()
{
    if (!progress_.events || since_count_.seconds() < 0.5)
        return;
    since_count_ = {};
    try {
        trace::Database database(trace_, SQLITE_OPEN_READONLY);
        progress_.events(
            static_cast<std::uint64_t>(database.integer("SELECT event_count FROM recording")));
    } catch (const Error &) {
        // It is being written; next time.
    }
}

void Session::take_final_pm()
{
    for (std::size_t i = 0; i < pm_files_.size(); ++i) {
        final_pm_.push_back(scratch_.path() / fmt::format("final{}", i));
        copy_sparse(pm_files_[i], final_pm_.back());
    }
}

void Session::run_workload(const fs::path &plugin, RecordResult &result)
{
    make_mailbox(files_.mailbox, agent::encode_job(inputs_.workload));
    std::vector<std::string> arguments;
    if (!plugin.empty())
        arguments = {"-plugin",
                     fmt::format("{},trace={},stacks={},recording=off", escape_commas(plugin),
                                 escape_commas(trace_), inputs_.stacks ? "on" : "off")};
    guest_ = templates_.restore_recording(source_, pm_files_, files_, Deadline::after(kRestoreTime),
                                          arguments);
    RecordingStop stop = guest_->resume(
        Deadline::after(std::chrono::seconds(inputs_.host_time_limit)), [this] { count_events(); });
    if (stop == RecordingStop::by_itself && guest_->state() == MailboxState::recorded) {
        take_final_pm();
        stop = guest_->resume(Deadline::after(kReportTime));
        // The recording is over; a guest that fails to report afterwards takes nothing from it.
        if (stop != RecordingStop::by_itself)
            fail(ErrorKind::guest, "the guest ran the workload but could not report ({})",
                 guest::to_string(stop));
    }
    result.console = guest_->console();
    judge(stop, result);
    if (!guest_->quit(Deadline::after(kQuitTime)))
        fail(ErrorKind::guest,
             "QEMU did not end when it was told to; the trace is valid up to its last batch");
    const auto end = guest_->machine().process_end();
    if (end && !end->success())
        fail(ErrorKind::io, "QEMU ended with {} while the trace was finished: {}", end->describe(),
             guest_->machine().last_words());
}

void Session::judge(RecordingStop stop, RecordResult &result)
{
    auto ended = [&](WorkloadEnd end, const std::string &detail) {
        result.end = end;
        result.outcome = fmt::format("{}: {}", to_string(end), detail);
    };
    switch (stop) {
    case RecordingStop::by_itself:
        judge_report(result);
        return;
    case RecordingStop::panicked: {
        const std::size_t at = result.console.find(guest::kPanic);
        ended(WorkloadEnd::panicked,
              result.console.substr(at, result.console.find_first_of("\r\n", at) - at));
        return;
    }
    case RecordingStop::powered_off:
        ended(WorkloadEnd::powered_off, "the guest powered itself off");
        return;
    case RecordingStop::rebooted:
        ended(WorkloadEnd::rebooted, "the guest rebooted");
        return;
    case RecordingStop::time_over:
        guest_->machine().tell("stop", Deadline::after(kRestoreTime));
        ended(WorkloadEnd::hung, fmt::format("the guest still ran after {} s of the host's time; "
                                             "if the workload only needs longer, raise "
                                             "workload.host_time_limit",
                                             inputs_.host_time_limit));
        return;
    case RecordingStop::machine_died:
        fail(ErrorKind::guest, "QEMU died while it recorded: {}", guest_->machine().last_words());
    }
}

void Session::judge_report(RecordResult &result)
{
    result.report = guest_->report();
    result.guest_usec = result.report.elapsed_usec;
    result.end = WorkloadEnd::finished;
    result.outcome = "finished: exit status 0";
    const std::vector<agent::StepReport> &steps = result.report.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (good(steps[i])) {
            // Operations that failed as they must: part of the history, and worth a word.
            if (i == inputs_.workload_step &&
                inputs_.workload.steps[i].kind == agent::StepKind::ops)
                result.outcome += failed_operations(steps[i].run.errors);
            continue;
        }
        const bool timed_out =
            steps[i].failure.empty() && steps[i].run.end == agent::RunEnd::timed_out;
        result.end = timed_out ? WorkloadEnd::timed_out : WorkloadEnd::failed;
        const std::string what = i == inputs_.workload_step || i >= inputs_.workload.steps.size()
                                     ? "the workload"
                                     : describe(inputs_.workload.steps[i]);
        result.outcome =
            fmt::format("{}: {}: {}{}", to_string(result.end), what, what_went_wrong(steps[i]),
                        kernels_words(inputs_.workload, result.report, i));
    }
}

} // namespace fencepost::record
