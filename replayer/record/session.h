// SPDX-License-Identifier: GPL-2.0-or-later
// One recording on its way: its guests, its PM and its mailbox.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/scratch.h"
#include "replayer/guest/recording_guest.h"
#include "replayer/guest/template_store.h"
#include "replayer/record/recorder.h"
#include "replayer/run/inputs.h"

namespace fencepost::record {

// Set-up and workload run in two guests that start from one template: so what is recorded starts
// from PM that is known byte for byte before the first event, formatting costs no events, and a
// recording that is killed already holds its initial image.
class Session {
public:
    // All but `cache` is borrowed.
    Session(guest::TemplateStore &templates, const guest::Template &source,
            const run::Inputs &inputs, const std::filesystem::path &cache,
            const RecordProgress &progress);

    // In a guest of its own. A guest error if a step of it fails.
    void set_up();
    // A new trace with PM as it is before the workload.
    void prepare_trace(const std::filesystem::path &trace);
    // How the workload ended goes into the result. `plugin`: the tracer; empty: nothing is
    // recorded.
    void run_workload(const std::filesystem::path &plugin, RecordResult &result);
    // The PM files as the workload left them.
    const std::vector<std::filesystem::path> &final_pm() const
    {
        return final_pm_.empty() ? pm_files_ : final_pm_;
    }

private:
    void take_final_pm();
    void judge(guest::RecordingStop stop, RecordResult &result);
    void judge_report(RecordResult &result);
    void count_events();

    guest::TemplateStore &templates_;
    const guest::Template &source_;
    const run::Inputs &inputs_;
    const RecordProgress &progress_;
    ScratchDirectory scratch_;
    guest::RecordingFiles files_;
    std::filesystem::path trace_;
    std::vector<std::filesystem::path> pm_files_;
    std::vector<std::filesystem::path> final_pm_;
    std::unique_ptr<guest::RecordingGuest> guest_;
    Stopwatch since_count_;
};

} // namespace fencepost::record
