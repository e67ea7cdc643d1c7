// SPDX-License-Identifier: GPL-2.0-or-later
// What a run was recorded from: guest, jobs, spec. Kept beside the trace, so that it can be
// recorded again and its crash images can be judged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "guest-images/agent/job.h"
#include "replayer/guest/guest_config.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"

namespace fencepost::run {

// The file system under test, as the workload's job mounts it.
struct Mount {
    agent::MountRequest request;
    std::size_t pm_device = 0; // that it is on
    // In the device's file.
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

// Everything that decides what a recording holds. Kept with a run, so that it can be made again.
struct Inputs {
    guest::GuestConfig config;
    agent::Job setup;
    agent::Job workload;
    std::size_t workload_step = 0;
    std::optional<Mount> mount = {};     // that the workload finds; nothing: it has no file system
    std::uint32_t host_time_limit = 600; // seconds
    std::string spec;                    // its text, for the trace
    bool stacks = false;
    // Decide nothing about the recording.
    TestSpec test = {};
    AnalyzeSpec analyze = {};
};

// What the workload's job mounts first. A trace error for a device that is none of the guest's.
std::optional<Mount> mount_of(const agent::Job &job, std::span<const guest::PmConfig> devices);

// The step that is the workload itself. A trace error if the job has no such step.
const agent::JobStep &workload_of(const Inputs &inputs);

// The user's own programs and libraries: what the spec brings into the guest or runs there, by path
// in the guest.
std::vector<std::string> own_programs(const Inputs &inputs);

// Before the recording, so that one that is killed can be looked into.
void save_inputs(const RunFiles &files, const Inputs &inputs);
// A trace error if they are missing or damaged.
Inputs load_inputs(const RunFiles &files);
// Whether both would record the same; how it is judged may differ.
bool record_the_same(const Inputs &a, const Inputs &b);
// What its spec says for rules; nothing for a trace by itself.
AnalyzeSpec load_analyze(const RunFiles &files);
// What its spec says about incidental fences; likewise.
std::vector<std::string> load_incidental(const RunFiles &files);

// What the spec says about judging, but for the names of oracles and annotators; the same text for
// the same.
std::string judgement_text(const RunFiles &files);

} // namespace fencepost::run
