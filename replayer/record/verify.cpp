// SPDX-License-Identifier: GPL-2.0-or-later
// See verify.h.
#include "replayer/record/verify.h"

#include <algorithm>

#include "base/error.h"
#include "base/scratch.h"
#include "replayer/record/completeness.h"
#include "replayer/run/inputs.h"
#include "trace/whole_check.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

std::string describe_event(const trace::Event &event)
{
    return fmt::format("{} {} at {:#x}, {} bytes, vCPU {}", trace::name_of(event.kind),
                       trace::subkind_name(event.kind, event.subkind), event.address, event.size,
                       event.vcpu);
}

void check_completeness(const run::RunFiles &files, const trace::TraceReader &reader,
                        VerifyReport &report)
{
    const ReplayedImage replayed(reader);
    const std::vector<std::string> digests = replayed.digests();
    bool known = true;
    bool equal = true;
    std::vector<fs::path> kept;
    const Folder run = files.folder();
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const auto &final_digest = replayed.images()[i].region.final_digest;
        known = known && final_digest;
        equal = equal && final_digest == digests[i];
        if (run.kind_of(files.final_pm(i).filename()) == Folder::Kind::file)
            kept.push_back(files.final_pm(i));
    }
    if (!known)
        return;
    report.completeness = equal ? Completeness::complete : Completeness::incomplete;
    if (equal || kept.size() != digests.size())
        return;
    const trace::Comparison comparison = replayed.compare(reader, kept);
    report.differing_lines = comparison.differing_lines;
    for (const trace::LineDifference &difference : comparison.first)
        report.differences.push_back(describe(difference, reader));
}

// Records again and compares; adds to the report.
void verify_repeats(const run::RunFiles &files, const fs::path &cache, unsigned times,
                    const std::function<void(const std::string &line)> &progress,
                    VerifyReport &report)
{
    Recorder recorder(cache, {progress, {}});
    const run::Inputs inputs = run::load_inputs(files);
    const trace::TraceReader reader(files.trace());
    const auto meta = reader.meta();
    auto recorded = [&](const char *key) {
        const auto found = meta.find(key);
        return found == meta.end() ? std::string() : found->second;
    };
    const guest::Template source = recorder.template_of(inputs);
    if (recorded("qemu_version") != source.qemu)
        report.changed.push_back(fmt::format("it was recorded with QEMU {}, this one is {}",
                                             recorded("qemu_version"), source.qemu));
    if (recorded("image_digest") != source.image_digest)
        report.changed.push_back(
            fmt::format("the image {} has changed since", inputs.config.image));
    if (recorded("tool_version") != FENCEPOST_VERSION)
        report.changed.push_back(
            fmt::format("it was recorded by fencepost {}, this one is " FENCEPOST_VERSION,
                        recorded("tool_version")));

    const ScratchDirectory scratch(cache);
    for (unsigned i = 0; i < times; ++i) {
        const fs::path trace = scratch.path() / "trace.db";
        const RecordResult again = recorder.record(inputs, trace, [&](std::size_t device) {
            return scratch.path() / fmt::format("final{}", device);
        });
        Repetition repetition;
        repetition.event_count = again.event_count;
        repetition.outcome = again.outcome;
        repetition.same_events = again.event_digest == report.recording.event_digest;
        repetition.same_effects = again.effect_digest == report.recording.effect_digest;
        repetition.same_final_pm = true;
        const std::vector<trace::Region> regions = reader.regions();
        for (std::size_t region = 0; region < regions.size(); ++region)
            repetition.same_final_pm = repetition.same_final_pm &&
                                       region < again.final_digests.size() &&
                                       regions[region].final_digest == again.final_digests[region];
        if (!repetition.identical())
            repetition.first_difference = first_difference(reader, trace::TraceReader(trace));
        report.repetitions.push_back(std::move(repetition));
    }
}

} // namespace

std::string first_difference(const trace::TraceReader &a, const trace::TraceReader &b)
{
    trace::EventScan left = a.scan();
    trace::EventScan right = b.scan();
    std::size_t i = 0;
    std::size_t j = 0;
    bool more_left = left.next();
    bool more_right = right.next();
    while (more_left && more_right) {
        const trace::Event &x = left.events()[i];
        const trace::Event &y = right.events()[j];
        const auto value_x = trace::value_of(x, left.wide_values());
        const auto value_y = trace::value_of(y, right.wide_values());
        const bool same_value =
            std::equal(value_x.begin(), value_x.end(), value_y.begin(), value_y.end());
        if (x.address != y.address || x.kind != y.kind || x.subkind != y.subkind ||
            x.size != y.size || x.flags != y.flags || x.vcpu != y.vcpu || !same_value)
            return fmt::format("event {}: recorded {}, repeated {}", left.first_seq() + i,
                               describe_event(x), describe_event(y));
        if (++i == left.events().size()) {
            more_left = left.next();
            i = 0;
        }
        if (++j == right.events().size()) {
            more_right = right.next();
            j = 0;
        }
    }
    if (a.event_count() != b.event_count())
        return fmt::format("the same {} events, then one ends",
                           std::min(a.event_count(), b.event_count()));
    return "";
}

const char *to_string(Completeness completeness)
{
    return completeness == Completeness::complete     ? "complete"
           : completeness == Completeness::incomplete ? "incomplete"
                                                      : "unknown";
}

bool VerifyReport::counters_good() const
{
    return std::none_of(counters.begin(), counters.end(), [](const trace::DataQuality &counter) {
        return counter.severity == trace::QualityLevel::error && counter.value != 0;
    });
}

bool VerifyReport::deterministic() const
{
    return std::all_of(repetitions.begin(), repetitions.end(),
                       [](const Repetition &one) { return one.identical(); });
}

bool VerifyReport::good() const
{
    return completeness == Completeness::complete && counters_good() && deterministic();
}

VerifyReport verify_trace(const run::RunFiles &files)
{
    VerifyReport report;
    const trace::TraceReader reader(files.trace());
    trace::check_whole(reader);
    report.recording = reader.recording();
    report.counters = reader.data_quality();
    check_completeness(files, reader, report);
    return report;
}

VerifyReport verify_run(const run::RunFiles &files, const fs::path &cache, unsigned times,
                        const std::function<void(const std::string &line)> &progress)
{
    VerifyReport report = verify_trace(files);
    // Where the host's clock struck is another event each time.
    if (times > 0 && report.recording.outcome.starts_with(to_string(run::WorkloadEnd::hung)))
        progress("not recorded again: the guest was stopped by the host's time limit, at another "
                 "event each time; if the workload only needs longer, raise "
                 "workload.host_time_limit");
    else if (times > 0 && report.recording.state == trace::RecordingState::complete)
        verify_repeats(files, cache, times, progress, report);
    return report;
}

void require_good(const VerifyReport &report)
{
    if (report.recording.state != trace::RecordingState::complete)
        fail(ErrorKind::trace, "the recording did not end; the trace is valid up to its {} events",
             report.recording.event_count);
    if (report.completeness != Completeness::complete || !report.counters_good())
        fail(ErrorKind::trace, "the recording is not to be trusted");
    if (!report.deterministic() && !report.changed.empty())
        fail(ErrorKind::guest,
             "the recording does not repeat, but this is not the machine that made it: {}",
             report.changed.front());
    if (!report.deterministic())
        fail(ErrorKind::trace, "the recording does not repeat");
}

} // namespace fencepost::record
