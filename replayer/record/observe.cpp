// SPDX-License-Identifier: GPL-2.0-or-later
// See observe.h.
#include "replayer/record/observe.h"

#include "base/folder.h"
#include "guest-images/image/image_store.h"
#include "replayer/record/jobs.h"
#include "replayer/record/recorder.h"
#include "trace/reader.h"

namespace fencepost::record {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kBlockLimit = 4096; // bytes of blocks that one observation sends: 16 MiB

class Observer {
public:
    Observer(const run::RunFiles &run, run::Inputs inputs, fs::path cache,
             std::function<void(const std::string &line)> progress)
        : run_(run), inputs_(std::move(inputs)), cache_(std::move(cache)),
          progress_(std::move(progress))
    {
        CHECK(inputs_.mount, "a workload without a file system has no trees");
        const trace::TraceReader reader(run_.trace());
        // What another kernel or agent left is not what this one must leave.
        const std::string image = images::ImageStore(cache_).open(inputs_.config.image).digest;
        head_ = fmt::format("{} {} {}\n", reader.recording().event_digest,
                            agent::kObservationsVersion, image);
    }

    // `name`: of the file that keeps it in the run directory.
    std::vector<agent::Observation> observe(const std::string &name, std::uint32_t variation) const
    {
        const std::string file = fmt::format("{}.{}", name, variation);
        const Folder folder = run_.folder();
        const std::string below = run_.legal_states().filename();
        agent::JobReport report;
        if (const std::optional<Folder> earlier = folder.below(below);
            earlier && earlier->kind_of(file) != Folder::Kind::nothing) {
            const std::string kept = earlier->read(file, run::kMostJob);
            if (kept.starts_with(head_) &&
                agent::decode_job(std::string_view(kept).substr(head_.size()), report))
                return std::move(report.observations);
        }
        if (progress_)
            progress_("finding the legal trees of the workload");
        agent::ObservationPlan plan;
        plan.root = inputs_.mount->request.target;
        plan.limits.blocks = kBlockLimit;
        plan.variation = variation;
        agent::JobReport whole = Recorder(cache_, {progress_, {}}).observe(inputs_, plan);
        report.observations = std::move(whole.observations);
        folder.made_below(below).write(file, head_ + agent::encode_job(report));
        return std::move(report.observations);
    }

private:
    const run::RunFiles run_;
    const run::Inputs inputs_;
    const fs::path cache_;
    const std::function<void(const std::string &line)> progress_;
    std::string head_; // of a kept file: what it belongs to
};

} // namespace

run::Observations observe_workload(const run::RunFiles &run, const run::Inputs &inputs,
                                   const fs::path &cache,
                                   const std::function<void(const std::string &line)> &progress,
                                   const std::string &file_system)
{
    run::Inputs observed = inputs;
    if (!file_system.empty()) {
        use_file_system(observed.setup, file_system);
        use_file_system(observed.workload, file_system);
        observed.mount = run::mount_of(observed.workload, observed.config.pm);
    }
    const Observer observer(run, std::move(observed), cache, progress);
    const std::string name = file_system.empty() ? "own" : file_system;
    return {observer.observe(name, 0), observer.observe(name, 1)};
}

} // namespace fencepost::record
