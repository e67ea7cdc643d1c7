// SPDX-License-Identifier: GPL-2.0-or-later
// See jobs.h.
#include "replayer/record/jobs.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/run/ops_parser.h"
#include "replayer/run/script.h"

namespace fencepost::record {

namespace {

using agent::Job;
using agent::JobStep;
using agent::StepKind;

constexpr const char *kSetupScript = "/run/fencepost/setup.sh";
constexpr const char *kWorkloadScript = "/run/fencepost/workload.sh";

std::vector<agent::JobFile> copied_files(const run::Spec &spec)
{
    std::vector<agent::JobFile> files;
    for (const run::CopySpec &copy : spec.copies) {
        struct stat status;
        if (stat(copy.from.c_str(), &status) < 0 || !S_ISREG(status.st_mode))
            fail(ErrorKind::usage, "{} is not a file that can be copied", copy.from.string());
        if (static_cast<std::uint64_t>(status.st_size) >
            agent::Mailbox::capacity(agent::MailboxPart::request))
            fail(ErrorKind::usage, "{} does not fit into the mailbox of a guest",
                 copy.from.string());
        files.push_back(
            {copy.to, static_cast<std::uint32_t>(status.st_mode & 0777), read_file(copy.from)});
    }
    return files;
}

std::string device_path(const run::FileSystemSpec &file_system,
                        const std::vector<agent::PmDevice> &devices)
{
    if (file_system.device >= devices.size())
        fail(ErrorKind::guest, "the guest has {} PM devices, the file system is to be on number {}",
             devices.size(), file_system.device);
    return "/dev/" + devices[file_system.device].name;
}

JobStep mount_step(const run::FileSystemSpec &file_system, const std::string &device,
                   const std::string &options)
{
    JobStep step;
    step.kind = StepKind::mount;
    step.mount = {device, file_system.mount_point, file_system.type, options};
    return step;
}

JobStep unmount_step(const run::FileSystemSpec &file_system)
{
    JobStep step;
    step.kind = StepKind::unmount;
    step.mount.target = file_system.mount_point;
    return step;
}

JobStep run_step(const run::Spec &spec, std::vector<std::string> argv)
{
    JobStep step;
    step.command.argv = std::move(argv);
    step.command.environment = spec.workload.environment;
    step.command.directory = !spec.workload.directory.empty() ? spec.workload.directory
                             : spec.file_system               ? spec.file_system->mount_point
                                                              : "/";
    step.command.time_limit_ms = spec.workload.time_limit * 1000;
    return step;
}

// What ext4 and XFS need to take a small PM device and to have DAX on it; and nothing is put off
// that the kernel would do later, in the middle of the workload.
std::vector<std::string> mkfs_command(const std::string &type)
{
    std::vector<std::string> argv = {"mkfs." + type};
    if (type == "ext4")
        argv.insert(argv.end(),
                    {"-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"});
    if (type == "xfs")
        argv.insert(argv.end(), {"-q", "-f", "-m", "reflink=0"});
    return argv;
}

// Without these mkfs.xfs refuses less than 300 MB.
std::vector<std::string> mkfs_environment(const std::string &type)
{
    return type == "xfs" ? std::vector<std::string>{"TEST_DIR=1", "TEST_DEV=1", "QA_CHECK_FS=1"}
                         : std::vector<std::string>();
}

void add_mkfs_environment(const std::string &type, JobStep &step)
{
    for (const std::string &each : mkfs_environment(type))
        step.command.environment.push_back(each);
}

JobStep mkfs_step(const run::Spec &spec, const run::FileSystemSpec &file_system,
                  const std::string &device)
{
    std::vector<std::string> argv = mkfs_of(file_system).argv;
    argv.push_back(device);
    JobStep step = run_step(spec, argv);
    step.command.directory = std::string("/");
    add_mkfs_environment(file_system.type, step);
    return step;
}

} // namespace

MkfsCommand mkfs_of(const run::FileSystemSpec &file_system)
{
    MkfsCommand command = {file_system.mkfs_program
                               ? std::vector<std::string>{*file_system.mkfs_program}
                               : mkfs_command(file_system.type),
                           mkfs_environment(file_system.type)};
    command.argv.insert(command.argv.end(), file_system.mkfs_options.begin(),
                        file_system.mkfs_options.end());
    return command;
}

Job setup_job(const run::Spec &spec, const std::vector<agent::PmDevice> &devices)
{
    // Guest time, which passes quickly while a guest waits, for example for its random numbers.
    constexpr std::uint32_t kSetupLimitMs = 600'000;
    Job job;
    job.files = copied_files(spec);
    const bool has_script = !spec.setup_script.empty();
    const run::FileSystemSpec *file_system = spec.file_system ? &*spec.file_system : nullptr;
    if (file_system && file_system->mkfs_program.value_or("default") != "")
        job.steps.push_back(mkfs_step(spec, *file_system, device_path(*file_system, devices)));
    // A file system that formats itself at its first mount has that one here too.
    const bool mounts = file_system && (has_script || file_system->first_mount_options);
    if (mounts)
        job.steps.push_back(
            mount_step(*file_system, device_path(*file_system, devices),
                       file_system->first_mount_options.value_or(file_system->mount_options)));
    if (has_script) {
        job.files.push_back({kSetupScript, 0755, spec.setup_script});
        job.steps.push_back(run_step(spec, {"/bin/sh", kSetupScript}));
        // workload.directory may be what the script makes.
        job.steps.back().command.directory = file_system ? file_system->mount_point : "/";
    }
    if (mounts)
        job.steps.push_back(unmount_step(*file_system));
    for (JobStep &step : job.steps)
        step.command.time_limit_ms = kSetupLimitMs;
    return job;
}

void check_workload(const run::Spec &spec)
{
    copied_files(spec);
    switch (spec.workload.kind) {
    case run::WorkloadKind::script:
        run::split_script(spec.workload.source);
        return;
    case run::WorkloadKind::program:
        return;
    case run::WorkloadKind::ops:
        run::parse_ops(spec.workload.source);
        return;
    case run::WorkloadKind::j_lang:
        run::parse_j_lang(spec.workload.source);
        return;
    }
}

std::size_t workload_step(const run::Spec &spec)
{
    return spec.file_system ? 1 : 0;
}

Job workload_job(const run::Spec &spec, const std::vector<agent::PmDevice> &devices)
{
    Job job;
    job.recorded = true;
    job.files = copied_files(spec);
    if (spec.file_system)
        job.steps.push_back(mount_step(*spec.file_system, device_path(*spec.file_system, devices),
                                       spec.file_system->mount_options));
    const run::WorkloadSpec &workload = spec.workload;
    JobStep step;
    switch (workload.kind) {
    case run::WorkloadKind::script: {
        const std::vector<run::ScriptCommand> commands = run::split_script(workload.source);
        job.files.push_back({kWorkloadScript, 0755, run::marked_script(commands)});
        step = run_step(spec, {"/bin/sh", kWorkloadScript});
        for (const run::ScriptCommand &command : commands)
            step.operations.push_back(command.text);
        break;
    }
    case run::WorkloadKind::program:
        step = run_step(spec, workload.command);
        break;
    case run::WorkloadKind::ops:
    case run::WorkloadKind::j_lang:
        step = run_step(spec, {});
        step.kind = StepKind::ops;
        step.ops = workload.kind == run::WorkloadKind::ops ? run::parse_ops(workload.source)
                                                           : run::parse_j_lang(workload.source);
        break;
    }
    step.system_calls = workload.system_calls;
    job.steps.push_back(step);
    if (workload.unmount)
        job.steps.push_back(unmount_step(*spec.file_system));
    return job;
}

void use_file_system(Job &job, const std::string &type)
{
    for (JobStep &step : job.steps) {
        if (step.kind == StepKind::mount) {
            step.mount.fstype = type;
            step.mount.options = "dax";
        } else if (step.kind == StepKind::run && !step.command.argv.empty() &&
                   step.command.argv.front().starts_with("mkfs.")) {
            const std::string device = step.command.argv.back();
            step.command.argv = mkfs_command(type);
            step.command.argv.push_back(device);
            add_mkfs_environment(type, step);
        }
    }
}

std::string describe(const JobStep &step)
{
    switch (step.kind) {
    case StepKind::run:
        return step.command.argv.empty() ? "a command" : step.command.argv.front();
    case StepKind::ops:
        return "the operations";
    case StepKind::mount:
        return fmt::format("mount -t {} -o {}", step.mount.fstype, step.mount.options);
    case StepKind::unmount:
        return "umount " + step.mount.target;
    }
    return "a step";
}

} // namespace fencepost::record
