// SPDX-License-Identifier: GPL-2.0-or-later
// See recorder.h.
#include "replayer/record/recorder.h"

#include "base/error.h"
#include "base/places.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/record/completeness.h"
#include "replayer/record/jobs.h"
#include "replayer/record/reach.h"
#include "replayer/record/session.h"
#include "trace/amendment.h"
#include "trace/image.h"

namespace fencepost::record {

using run::WorkloadEnd;

namespace fs = std::filesystem;
using namespace fencepost::guest;

namespace {

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
    inputs.mount = run::mount_of(inputs.workload, inputs.config.pm);
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
