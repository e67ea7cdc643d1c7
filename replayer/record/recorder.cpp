// SPDX-License-Identifier: GPL-2.0-or-later
// See recorder.h. Set-up and workload run in two guests that start from one template: so what is
// recorded starts from PM that is known byte for byte before the first event, formatting costs no
// events, and a recording that is killed already holds its initial image.
#include "replayer/record/recorder.h"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "base/places.h"
#include "replayer/guest/log_patterns.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/guest/scratch.h"
#include "replayer/record/completeness.h"
#include "replayer/record/jobs.h"
#include "replayer/record/reach.h"
#include "trace/amendment.h"
#include "trace/image.h"
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

// One recording on its way.
class Session {
public:
    Session(TemplateStore &templates, const Template &source, const run::Inputs &inputs,
            const fs::path &cache, const RecordProgress &progress)
        : templates_(templates), source_(source), inputs_(inputs), progress_(progress),
          scratch_(cache), files_{scratch_.path() / "mailbox", scratch_.path() / "console"}
    {
        for (std::size_t i = 0; i < inputs_.config.pm.size(); ++i) {
            pm_files_.push_back(scratch_.path() / fmt::format("pm{}", i));
            create_pm_file(pm_files_.back(), inputs_.config.pm[i]);
        }
    }

    void set_up();
    void prepare_trace(const fs::path &trace);
    void run_workload(const fs::path &plugin, RecordResult &result);
    // The PM files as the workload left them.
    const std::vector<fs::path> &final_pm() const
    {
        return final_pm_.empty() ? pm_files_ : final_pm_;
    }

private:
    void take_final_pm();
    void judge(RecordingStop stop, RecordResult &result);
    void judge_report(RecordResult &result);
    void count_events();

    TemplateStore &templates_;
    const Template &source_;
    const run::Inputs &inputs_;
    const RecordProgress &progress_;
    ScratchDirectory scratch_;
    RecordingFiles files_;
    fs::path trace_;
    std::vector<fs::path> pm_files_;
    std::vector<fs::path> final_pm_;
    std::unique_ptr<RecordingGuest> guest_;
    Stopwatch since_count_;
};

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
        fail(ErrorKind::guest, "the set-up failed in the guest: {}: {}", what,
             what_went_wrong(report.steps[i]));
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
            fmt::format("{}: {}: {}", to_string(result.end), what, what_went_wrong(steps[i]));
    }
}

fs::path tracer_plugin()
{
    return built_part("qemu-plugin", "fencepost-tracer.so");
}

} // namespace

Recorder::Recorder(const fs::path &cache, RecordProgress progress)
    : cache_(cache), progress_(std::move(progress)), backend_(make_backend("process", cache)),
      templates_(cache, *backend_)
{
}

run::Inputs Recorder::prepare(const run::Spec &spec, bool stacks)
{
    check_workload(spec); // before a guest is booted for it
    check_file_system(spec);
    run::Inputs inputs;
    inputs.config = guest_config(spec, cache_, progress_.line);
    const Template source = templates_.ensure(inputs.config, progress_.line);
    inputs.setup = setup_job(spec, source.pm_devices);
    inputs.workload = workload_job(spec, source.pm_devices);
    inputs.workload_step = workload_step(spec);
    inputs.mount = run::mount_of(inputs.workload, inputs.config.pm.size());
    inputs.host_time_limit = spec.workload.host_time_limit;
    inputs.spec = spec.text;
    inputs.stacks = stacks;
    inputs.test = spec.test;
    inputs.analyze = spec.analyze;
    return inputs;
}

Template Recorder::template_of(const run::Inputs &inputs)
{
    return templates_.ensure(inputs.config, progress_.line);
}

std::string Recorder::command_line(const run::Inputs &inputs)
{
    MachinePlan plan = templates_.shown_plan(inputs.config);
    plan.mailbox_file = "MAILBOX";
    plan.console_file = "CONSOLE";
    plan.extra_arguments = {"-plugin", fmt::format("{},trace=TRACE,stacks={},recording=off",
                                                   escape_commas(tracer_plugin()),
                                                   inputs.stacks ? "on" : "off")};
    return shown_command(plan);
}

agent::JobReport Recorder::observe(const run::Inputs &inputs, const agent::ObservationPlan &plan)
{
    run::Inputs observed = inputs;
    observed.workload.observe = plan;
    const Template source = templates_.ensure(inputs.config, progress_.line);
    Session session(templates_, source, observed, cache_, progress_);
    session.set_up();
    RecordResult result;
    session.run_workload({}, result);
    if (result.report.observations.empty())
        fail(ErrorKind::guest, "the workload could not be observed: {}", result.outcome);
    return std::move(result.report);
}

std::vector<fs::path> Recorder::clean_end(const run::Inputs &inputs, const fs::path &directory)
{
    run::Inputs ended = inputs;
    std::vector<agent::JobStep> &steps = ended.workload.steps;
    if (!steps.empty() && steps.front().kind == agent::StepKind::mount &&
        steps.back().kind != agent::StepKind::unmount) {
        agent::JobStep unmount = steps.front();
        unmount.kind = agent::StepKind::unmount;
        steps.push_back(unmount);
    }
    const Template source = templates_.ensure(inputs.config, progress_.line);
    Session session(templates_, source, ended, cache_, progress_);
    session.set_up();
    RecordResult result;
    session.run_workload({}, result);
    if (result.end != WorkloadEnd::finished)
        fail(ErrorKind::guest, "the workload did not end well: {}", result.outcome);
    std::vector<fs::path> files;
    for (const fs::path &pm : session.final_pm()) {
        files.push_back(directory / fmt::format("clean{}", files.size()));
        copy_sparse(pm, files.back());
    }
    return files;
}

RecordResult Recorder::record(const run::Inputs &inputs, const fs::path &trace,
                              const std::function<fs::path(std::size_t device)> &final_pm)
{
    RecordResult result;
    const Template source = templates_.ensure(inputs.config, progress_.line);
    Session session(templates_, source, inputs, cache_, progress_);
    const Stopwatch setting_up;
    session.set_up();
    result.setup_seconds = setting_up.seconds();
    session.prepare_trace(trace);
    const Stopwatch recording;
    session.run_workload(tracer_plugin(), result);
    result.record_seconds = recording.seconds();

    const trace::TraceReader reader(trace);
    const ReplayedImage replayed(reader);
    const trace::Comparison comparison = replayed.compare(reader, session.final_pm());
    result.event_count = reader.event_count();
    result.event_digest = reader.recording().event_digest;
    result.effect_digest = reader.recording().effect_digest;
    result.stores = replayed.counts().stores;
    result.differing_lines = comparison.differing_lines;
    result.differences = comparison.first;

    trace::TraceAmendment amendment(trace);
    for (std::size_t i = 0; i < session.final_pm().size(); ++i) {
        const trace::Region &region = replayed.images()[i].region;
        result.final_digests.push_back(trace::image_digest(region, session.final_pm()[i]));
        amendment.put_final_digest(region.id, result.final_digests.back());
        if (!result.complete())
            copy_sparse(session.final_pm()[i], final_pm(i));
    }
    amendment.put_outcome(result.outcome);
    amendment.put_data_quality(
        {"incomplete_lines", static_cast<std::int64_t>(result.differing_lines),
         trace::QualityLevel::error,
         "lines of PM that differ at the end from what the recorded stores left there"});
    amendment.put_data_quality(
        {"late_lines", static_cast<std::int64_t>(replayed.late().stores), trace::QualityLevel::info,
         "lines of PM that were written after the workload's end, while the machine was "
         "stopped; they are no part of the recording"});
    for (const trace::DataQuality &counter :
         reach_counters(reach_of(reader), inputs, result.report.kernel_log))
        amendment.put_data_quality(counter);
    amendment.put_data_quality(
        {"stores_outside_pm", static_cast<std::int64_t>(replayed.counts().outside),
         trace::QualityLevel::error, "recorded stores with a byte outside of every PM device"});
    amendment.commit();
    return result;
}

} // namespace fencepost::record
