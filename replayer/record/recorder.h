// SPDX-License-Identifier: GPL-2.0-or-later
// One recording: PM is made ready in a guest of its own, then another guest, restored from the same
// template, mounts it and runs the workload under the tracer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replayer/guest/template_store.h"
#include "replayer/run/inputs.h"
#include "replayer/run/workload_end.h"
#include "trace/replay.h"

namespace fencepost::record {

struct RecordResult {
    run::WorkloadEnd end = run::WorkloadEnd::finished;
    std::string outcome; // the same in words, with details
    std::uint64_t event_count = 0;
    std::string event_digest;
    std::string effect_digest;
    std::vector<std::string> final_digests;         // of PM, by device
    std::uint64_t differing_lines = 0;              // 0: the recording is complete
    std::vector<trace::LineDifference> differences; // the first ones
    std::uint64_t stores = 0;
    std::uint64_t guest_usec = 0;
    double setup_seconds = 0;
    double record_seconds = 0;
    std::string console;
    agent::JobReport report; // empty where the guest gave none

    bool complete() const { return differing_lines == 0; }
};

struct RecordProgress {
    std::function<void(const std::string &line)> line;
    std::function<void(std::uint64_t events)> events; // as far as committed
};

class Recorder {
public:
    Recorder(const std::filesystem::path &cache, RecordProgress progress);

    // Builds the image of a spec that has its own, and makes or finds the template.
    run::Inputs prepare(const run::Spec &spec, bool stacks);
    // Into `trace`, a new file; an existing one is replaced. PM that differs from what the trace
    // says is kept as `final_pm(device)`. Throws for trouble that is not the workload's.
    RecordResult record(const run::Inputs &inputs, const std::filesystem::path &trace,
                        const std::function<std::filesystem::path(std::size_t device)> &final_pm);

    // The workload once more, without the tracer, as the job's ObservationPlan says; PM is gone
    // afterwards. A guest error if it does not end as a workload ends.
    agent::JobReport observe(const run::Inputs &inputs, const agent::ObservationPlan &plan);

    // The workload once more, without the tracer, and whatever it has mounted unmounted: PM as it
    // is without a crash, in files in `directory`, by device. A guest error if the workload does
    // not end with success.
    std::vector<std::filesystem::path> clean_end(const run::Inputs &inputs,
                                                 const std::filesystem::path &directory);

    // The template that record() starts from.
    guest::Template template_of(const run::Inputs &inputs);
    // QEMU's command line of a recording.
    std::string command_line(const run::Inputs &inputs);

private:
    std::filesystem::path cache_;
    RecordProgress progress_;
    std::unique_ptr<guest::Backend> backend_;
    guest::TemplateStore templates_;
};

// The recording guest's image must be made with the agent of this fencepost: a guest error if not.
guest::GuestConfig guest_config(const run::Spec &spec, const std::filesystem::path &cache,
                                const std::function<void(const std::string &line)> &progress);

} // namespace fencepost::record
