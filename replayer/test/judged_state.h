// SPDX-License-Identifier: GPL-2.0-or-later
// One crash state of a run, recovered in guests of its own: judged, or looked at.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/guest/guest_config.h"
#include "replayer/image/delta_file.h"
#include "replayer/oracle/judge.h"
#include "replayer/oracle/own_oracle.h"
#include "replayer/run/inputs.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/baseline.h"

namespace fencepost::test {

struct StateRequest {
    std::string state;                        // its id
    std::vector<std::string> incidental = {}; // empty: what the spec says
    std::vector<std::string> oracles = {};    // likewise
    oracle::OwnOracles own_oracles = {};      // for the names among them that are no others'
    std::string backend = "process";
    std::optional<guest::Accelerator> accelerator = {}; // nothing: KVM where it works
    // The image as it was kept; nothing: it is made from the trace.
    std::optional<image::ImageDelta> delta = {};
    // What healthy images get too is then masked, as in a test.
    std::optional<Baseline> baseline = {};
};

// Changes nothing in the run.
class JudgedState {
public:
    using Say = std::function<void(const std::string &line)>;

    // An id that is not one of this trace's is an Error(usage), a delta of another recording an
    // Error(trace).
    JudgedState(const run::RunFiles &files, const std::filesystem::path &cache,
                StateRequest request, const Say &say);
    ~JudgedState();

    const run::Inputs &inputs() const;
    // Names of those that judge it; none: those that suit the file system.
    const std::vector<std::string> &oracles() const;
    std::uint64_t crash_seq() const;
    // In which the image differs from the initial one.
    std::size_t changed_lines() const;

    // In a guest restored for it. The recovered tree is part of the judgement, also of a pass, if
    // an oracle asks for one.
    oracle::Judgement judge();
    // What a guest does with the image when it is judged.
    oracle::GuestWork work();

    // A guest with the image in its PM, which it has not looked at. `extra_arguments`: for QEMU.
    std::unique_ptr<guest::Guest> restore(const std::vector<std::string> &extra_arguments = {});
    // That restore() takes, and where the guest's PM files are: by device.
    const guest::Template &source();
    const std::vector<std::filesystem::path> &pm_files();
    // Writes the image into these files.
    void fill_pm_files();
    // A folder that is removed in the end.
    const std::filesystem::path &scratch();
    // Of the guests, to be shown. Starts none.
    std::string qemu_command() const;

private:
    struct Image;
    struct Guests;

    Guests &guests();
    oracle::Judge &judge_of_run();
    Worker &worker();

    const run::RunFiles files_;
    const std::filesystem::path cache_;
    const StateRequest request_;
    const Say say_;
    std::unique_ptr<Image> image_;
    std::unique_ptr<Guests> guests_;       // made when they are needed
    std::unique_ptr<oracle::Judge> judge_; // likewise
    std::unique_ptr<WorkerPlan> plan_;     // likewise
    std::unique_ptr<Worker> worker_;       // likewise
};

} // namespace fencepost::test
