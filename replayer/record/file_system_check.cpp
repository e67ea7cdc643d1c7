// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a spec's file system can be made, asked on the host before a guest is booted: by mkfs
// itself on an empty sparse file of the device's size, where it only says what it would do.
#include "replayer/record/jobs.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/build_request.h"
#include "replayer/guest/pm_file.h"

namespace fencepost::record {

namespace {

constexpr std::chrono::seconds kMkfsTime(20);

std::string first_line(const std::string &text)
{
    return text.substr(0, text.find('\n'));
}

// The option with which mkfs changes nothing.
const char *dry_run_of(const std::string &type)
{
    return type == "xfs" ? "-N" : "-n";
}

} // namespace

void check_file_system(const run::Spec &spec)
{
    if (!spec.file_system || spec.file_system->mkfs_program)
        return; // the user's own program
    const run::FileSystemSpec &file_system = *spec.file_system;
    if (file_system.type != "ext4" && file_system.type != "xfs") {
        if (file_system.type != "ext2" && !spec.guest.has_own_image() &&
            spec.guest.image == images::kDefaultImage)
            fail(ErrorKind::usage,
                 "there is no file system '{}' in the image {}, which has ext4 and xfs; another "
                 "needs "
                 "guest.module_files or guest.kernel, and file_system.mkfs_program",
                 file_system.type, spec.guest.image);
        return;
    }
    MkfsCommand command = mkfs_of(file_system);
    const auto program = find_program(command.argv.front());
    if (!program)
        return; // the guest will say it
    const guest::PmConfig &device = spec.pm.at(file_system.device);
    const TemporaryDirectory directory(std::filesystem::temp_directory_path(), "fencepost-mkfs-");
    const std::filesystem::path file = directory.path() / "pm";
    const std::uint64_t size = device.size - guest::pm_data_offset(device);
    const Fd fd = open_file(file, O_WRONLY | O_CREAT | O_EXCL);
    if (ftruncate(fd.get(), static_cast<off_t>(size)) < 0)
        fail_errno(fmt::format("cannot size {}", file.string()));
    command.argv.front() = program->string();
    command.argv.insert(command.argv.begin() + 1, dry_run_of(file_system.type));
    command.argv.push_back(file.string());
    CommandOptions options;
    options.deadline = Deadline::after(kMkfsTime);
    for (const std::string &each : command.environment)
        options.environment[each.substr(0, each.find('='))] = each.substr(each.find('=') + 1);
    const CommandResult result = run_command(command.argv, options);
    if (!result.timed_out && !result.success())
        fail(ErrorKind::usage, "mkfs.{} cannot use a PM device with {}M for data: {}",
             file_system.type, size >> 20,
             first_line(result.errors.empty() ? result.output : result.errors));
}

} // namespace fencepost::record
