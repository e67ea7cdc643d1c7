// SPDX-License-Identifier: GPL-2.0-or-later
// See sandbox.h. Bubblewrap makes the namespaces, prlimit sets what they do not limit.
#include "replayer/oracle/sandbox.h"

#include "base/error.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

std::string require_program(const std::string &name, const std::string &package)
{
    const auto path = find_program(name);
    if (!path)
        fail(ErrorKind::io, "{} is not installed; it is in Debian's package {}", name, package);
    return path->string();
}

// What programs need of the host: its programs and libraries, read only.
void add_system(std::vector<std::string> &command)
{
    command.insert(command.end(), {"--ro-bind", "/usr", "/usr"});
    for (const char *name : {"/bin", "/sbin", "/lib", "/lib64"}) {
        std::error_code error;
        if (fs::is_symlink(name, error))
            command.insert(command.end(), {"--symlink", fs::read_symlink(name).string(), name});
        else
            command.insert(command.end(), {"--ro-bind-try", name, name});
    }
    command.insert(command.end(), {"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"});
    command.insert(command.end(), {"--dev", "/dev", "--tmpfs", "/tmp"});
}

} // namespace

CommandResult run_sandboxed(const std::vector<std::string> &argv,
                            const std::vector<SandboxFile> &files, const SandboxLimits &limits)
{
    static const std::string prlimit = require_program("prlimit", "util-linux");
    static const std::string bwrap = require_program("bwrap", "bubblewrap");
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits.time).count() + 1;
    std::vector<std::string> command = {
        prlimit, fmt::format("--as={}", limits.memory), fmt::format("--cpu={}", seconds),
        // Up to the program to raise: xfs_repair insists on that.
        fmt::format("--fsize={}:", limits.file), "--core=0", bwrap, "--unshare-all",
        "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
        "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH",
        "/usr/sbin:/usr/bin:/sbin:/bin", "--setenv", "LC_ALL", "C", "--chdir", "/"};
    add_system(command);
    for (const SandboxFile &file : files)
        command.insert(command.end(),
                       {file.writable ? "--bind" : "--ro-bind", file.host.string(), file.inside});
    command.push_back("--");
    command.insert(command.end(), argv.begin(), argv.end());
    CommandOptions options;
    options.deadline = Deadline::after(limits.time);
    options.output_limit = limits.output;
    CommandResult result = run_command(command, options);
    if (!result.timed_out && !result.end.success() && result.errors.starts_with("bwrap: "))
        fail(ErrorKind::io, "programs cannot be run in a sandbox here: {}", result.last_words());
    return result;
}

} // namespace fencepost::oracle
