// SPDX-License-Identifier: GPL-2.0-or-later
// What a recording guest is told to do, and what it answers: the messages in its mailbox.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guest-images/agent/observation.h"
#include "guest-images/agent/ops.h"
#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// Written before the first step.
struct JobFile {
    std::string path; // absolute, in the guest
    std::uint32_t mode = 0644;
    std::string contents;

    bool operator==(const JobFile &) const = default;
};

enum class StepKind : std::uint8_t {
    run,     // `command`
    ops,     // `ops`, in `command.directory`, within `command.time_limit_ms`
    mount,   // `mount`
    unmount, // `mount.target`
};

// A step that fails ends the job.
struct JobStep {
    StepKind kind = StepKind::run;
    bool system_calls = false; // recorded while the step runs
    RunRequest command;
    std::vector<std::string> operations; // of a command that is a marked script: their texts
    MountRequest mount;
    OpsProgram ops;

    bool operator==(const JobStep &) const = default;
};

struct Job {
    bool recorded = false; // markers record_on and record_off around the steps
    std::vector<JobFile> files;
    std::vector<JobStep> steps;
    ObservationPlan observe;

    bool operator==(const Job &) const = default;
};

struct StepReport {
    std::string failure; // why the step could not be done; empty: see `run`
    RunReply run;

    bool operator==(const StepReport &) const = default;
};

struct JobReport {
    std::vector<StepReport> steps;         // those that were begun
    std::string kernel_log;                // what came in since the guest resumed
    std::string modules;                   // /proc/modules at the end
    std::string kallsyms;                  // only when the modules are not those of the boot
    std::uint64_t elapsed_usec = 0;        // guest time from resuming to the end of the last step
    std::vector<Observation> observations; // if any were asked for

    bool operator==(const JobReport &) const = default;
};

struct BootReport {
    Hello hello;
    std::string modules;
    std::string kallsyms;

    bool operator==(const BootReport &) const = default;
};

// Defined for Job, JobReport, BootReport and Observation.
template <typename Message> std::string encode_job(const Message &message);
template <typename Message>
[[nodiscard]] bool decode_job(std::string_view payload, Message &message);

} // namespace fencepost::agent
