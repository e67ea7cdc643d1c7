// SPDX-License-Identifier: GPL-2.0-or-later
// See mount_requests.h.
#include "guest-images/agent/mount_requests.h"

#include <algorithm>

#include <sys/mount.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/file_requests.h"

namespace fencepost::agent {

namespace {

struct FlagOption {
    std::string_view name;
    unsigned long flag;
    bool sets;
};

// The options of mount(8) that are flags of mount(2); every other word is the file system's.
constexpr FlagOption kFlagOptions[] = {
    {"defaults", 0, true},
    {"ro", MS_RDONLY, true},
    {"rw", MS_RDONLY, false},
    {"nosuid", MS_NOSUID, true},
    {"suid", MS_NOSUID, false},
    {"nodev", MS_NODEV, true},
    {"dev", MS_NODEV, false},
    {"noexec", MS_NOEXEC, true},
    {"exec", MS_NOEXEC, false},
    {"sync", MS_SYNCHRONOUS, true},
    {"async", MS_SYNCHRONOUS, false},
    {"dirsync", MS_DIRSYNC, true},
    {"remount", MS_REMOUNT, true},
    {"mand", MS_MANDLOCK, true},
    {"nomand", MS_MANDLOCK, false},
    {"noatime", MS_NOATIME, true},
    {"atime", MS_NOATIME, false},
    {"nodiratime", MS_NODIRATIME, true},
    {"diratime", MS_NODIRATIME, false},
    {"relatime", MS_RELATIME, true},
    {"norelatime", MS_RELATIME, false},
    {"strictatime", MS_STRICTATIME, true},
    {"nostrictatime", MS_STRICTATIME, false},
    {"lazytime", MS_LAZYTIME, true},
    {"nolazytime", MS_LAZYTIME, false},
    {"bind", MS_BIND, true},
    {"rbind", MS_BIND | MS_REC, true},
    {"move", MS_MOVE, true},
    {"silent", MS_SILENT, true},
    {"loud", MS_SILENT, false},
};

} // namespace

MountOptions parse_mount_options(std::string_view options)
{
    MountOptions result;
    while (!options.empty()) {
        const std::size_t comma = std::min(options.find(','), options.size());
        const std::string_view word = options.substr(0, comma);
        options.remove_prefix(std::min(comma + 1, options.size()));
        if (word.empty())
            continue;
        const auto *known = std::find_if(std::begin(kFlagOptions), std::end(kFlagOptions),
                                         [&](const FlagOption &o) { return o.name == word; });
        if (known == std::end(kFlagOptions)) {
            result.data += result.data.empty() ? "" : ",";
            result.data += word;
        } else if (known->sets) {
            result.flags |= known->flag;
        } else {
            result.flags &= ~known->flag;
        }
    }
    return result;
}

Outcome<MountReply> mount_file_system(const MountRequest &request)
{
    const std::string what =
        "mount " + request.source + " on " + request.target + " as " + request.fstype;
    if (!make_directories(request.target))
        return failure(what + ": its directory");
    const MountOptions options = parse_mount_options(request.options);
    const std::uint64_t start = monotonic_usec();
    if (mount(request.source.c_str(), request.target.c_str(), request.fstype.c_str(), options.flags,
              options.data.c_str()) < 0)
        return failure(what);
    return MountReply{monotonic_usec() - start};
}

Outcome<UnmountReply> unmount_file_system(const UnmountRequest &request)
{
    const std::uint64_t start = monotonic_usec();
    if (umount2(request.target.c_str(), static_cast<int>(request.flags)) < 0)
        return failure("unmount " + request.target);
    return UnmountReply{monotonic_usec() - start};
}

} // namespace fencepost::agent
