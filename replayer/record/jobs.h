// SPDX-License-Identifier: GPL-2.0-or-later
// From a spec to what a guest is told to do: one job makes the PM that the workload starts from,
// another is the workload.
#pragma once

#include <string>
#include <vector>

#include "guest-images/agent/job.h"
#include "guest-images/agent/mailbox.h"
#include "replayer/run/spec.h"

namespace fencepost::record {

// Formats, mounts, runs the set-up script and unmounts. Nothing of it is recorded.
agent::Job setup_job(const run::Spec &spec, const std::vector<agent::PmDevice> &devices);
// Mounts and runs the workload; recorded from the mount on.
agent::Job workload_job(const run::Spec &spec, const std::vector<agent::PmDevice> &devices);

// Throws the usage error that workload_job() would throw.
void check_workload(const run::Spec &spec);
// A usage error for a file system that is not known or does not fit its device, in mkfs's own
// words.
void check_file_system(const run::Spec &spec);

// How a file system is made; the device is one more argument.
struct MkfsCommand {
    std::vector<std::string> argv;
    std::vector<std::string> environment; // NAME=value
};
MkfsCommand mkfs_of(const run::FileSystemSpec &file_system);

// Which step of workload_job() is the workload itself.
std::size_t workload_step(const run::Spec &spec);

// Lets a job make and mount another file system, with the options that it gets by default.
void use_file_system(agent::Job &job, const std::string &type);

// What a step does, for messages.
std::string describe(const agent::JobStep &step);

} // namespace fencepost::record
