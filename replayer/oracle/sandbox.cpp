// SPDX-License-Identifier: GPL-2.0-or-later
// See sandbox.h. Bubblewrap makes the namespaces, prlimit sets what they do not limit.
#include "replayer/oracle/sandbox.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::oracle {

namespace fs = std::filesystem;

namespace {

constexpr uid_t kNobody = 65534;

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
    // Programs of /usr may be links through here: awk is in Debian. Parents that bwrap makes by
    // itself are for their owner alone, which nobody is not where there are no user namespaces.
    command.insert(command.end(), {"--dir", "/etc"});
    for (const char *name : {"/etc/ld.so.cache", "/etc/alternatives"})
        command.insert(command.end(), {"--ro-bind-try", name, name});
    command.insert(command.end(), {"--dev", "/dev"});
}

// What is written to /tmp is memory of the host's. Old bubblewraps know no bounds for it.
void add_tmp(std::vector<std::string> &command, const std::string &bwrap, std::uint64_t size)
{
    static const bool bounded =
        run_command({bwrap, "--help"}, {.deadline = Deadline::after(std::chrono::seconds(20))})
            .output.find("--size ") != std::string::npos;
    if (bounded)
        command.insert(command.end(), {"--size", std::to_string(size)});
    command.insert(command.end(), {"--tmpfs", "/tmp"});
}

// How a program becomes nobody.
enum class Nobody {
    in_user_namespace,
    by_setpriv, // root where there are no user namespaces, as in a chroot
};

Nobody choose_nobody(const std::string &bwrap)
{
    if (geteuid() != 0)
        return Nobody::in_user_namespace;
    const CommandResult tried =
        run_command({bwrap, "--unshare-user", "--ro-bind", "/", "/", "true"},
                    {.deadline = Deadline::after(std::chrono::seconds(20))});
    return tried.success() ? Nobody::in_user_namespace : Nobody::by_setpriv;
}

// Nobody is then not who owns the files.
void hand_over(const SandboxFile &file)
{
    if (file.writable && chown(file.host.c_str(), kNobody, kNobody) < 0)
        fail_errno(fmt::format("cannot give {} to a sandbox", file.host.string()));
    if (!file.writable && fs::is_regular_file(file.host))
        fs::permissions(file.host, fs::perms::others_read, fs::perm_options::add);
}

// A folder that is its owner's alone, as others may have it.
fs::path copy_for_all(const fs::path &folder, const fs::path &copy)
{
    constexpr auto kExecute = fs::perms::others_exec;
    fs::copy(folder, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const auto open = [&](const fs::path &path) {
        const fs::file_status status = fs::symlink_status(path);
        if (fs::is_symlink(status))
            return;
        const bool runs = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
        fs::permissions(path, fs::perms::others_read | (runs ? kExecute : fs::perms::none),
                        fs::perm_options::add);
    };
    open(copy);
    for (const fs::directory_entry &each : fs::recursive_directory_iterator(copy))
        open(each.path());
    return copy;
}

// Their own words, or those of the loader about them, which has their paths.
bool not_started(const std::string &errors)
{
    constexpr std::array kStarters = {"prlimit", "bwrap", "setpriv"};
    const fs::path speaker = errors.substr(0, errors.find(": "));
    return std::find(kStarters.begin(), kStarters.end(), speaker.filename()) != kStarters.end();
}

} // namespace

CommandResult run_sandboxed(const std::vector<std::string> &argv,
                            const std::vector<SandboxFile> &files, const SandboxLimits &limits)
{
    static const std::string prlimit = require_program("prlimit", "util-linux");
    static const std::string bwrap = require_program("bwrap", "bubblewrap");
    static const Nobody nobody = choose_nobody(bwrap);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits.time).count() + 1;
    std::vector<std::string> command = {
        prlimit, fmt::format("--as={}", limits.memory), fmt::format("--cpu={}", seconds),
        // Up to the program to raise: xfs_repair insists on that.
        fmt::format("--fsize={}:", limits.file), "--core=0", bwrap, "--unshare-ipc",
        "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH",
        "/usr/sbin:/usr/bin:/sbin:/bin", "--setenv", "LC_ALL", "C", "--chdir", "/"};
    if (nobody == Nobody::in_user_namespace)
        command.insert(command.end(), {"--unshare-user", "--uid", std::to_string(kNobody), "--gid",
                                       std::to_string(kNobody), "--cap-drop", "ALL"});
    add_system(command);
    add_tmp(command, bwrap, limits.memory);
    const TemporaryDirectory copies("/tmp", "fp-sandbox-");
    for (SandboxFile file : files) {
        if (nobody == Nobody::by_setpriv && !file.writable && fs::is_directory(file.host))
            file.host = copy_for_all(file.host, copies.path() / std::to_string(command.size()));
        else if (nobody == Nobody::by_setpriv)
            hand_over(file);
        if (const fs::path parent = fs::path(file.inside).parent_path(); parent != "/")
            command.insert(command.end(), {"--dir", parent.string()});
        command.insert(command.end(),
                       {file.writable ? "--bind" : "--ro-bind", file.host.string(), file.inside});
    }
    // The root and /dev are memory too, and the program's own in its user namespace. Inside, where
    // it is nobody's, the number of processes is the sandbox's and not that of all that the user
    // runs.
    command.insert(command.end(), {"--remount-ro", "/", "--remount-ro", "/dev", "--", prlimit,
                                   fmt::format("--nproc={}", limits.processes)});
    if (nobody == Nobody::by_setpriv)
        command.insert(command.end(), {require_program("setpriv", "util-linux"), "--reuid",
                                       std::to_string(kNobody), "--regid", std::to_string(kNobody),
                                       "--clear-groups", "--no-new-privs", "--inh-caps=-all",
                                       "--bounding-set=-all"});
    command.insert(command.end(), argv.begin(), argv.end());
    CommandOptions options;
    options.deadline = Deadline::after(limits.time);
    options.output_limit = limits.output;
    CommandResult result = run_command(command, options);
    if (!result.timed_out && !result.end.success() && not_started(result.errors))
        fail(ErrorKind::io, "programs cannot be run in a sandbox here: {}", result.last_words());
    return result;
}

} // namespace fencepost::oracle
