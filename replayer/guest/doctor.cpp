// SPDX-License-Identifier: GPL-2.0-or-later
// See doctor.h. One function a line of the report; each finds out by doing, not by looking.
#include "replayer/guest/doctor.h"

#include <unistd.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/image_store.h"
#include "replayer/guest/kvm_probe.h"
#include "replayer/guest/plugin_probe.h"

#ifdef FENCEPOST_LIBVIRT
#include "replayer/guest/libvirt_machine.h"
#endif

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

constexpr int kMinPluginLevel = 4;
constexpr int kMaxPluginLevel = 6;
constexpr std::uint64_t kWantedDisk = 4ull << 30;

Diagnosis examine_qemu()
{
    try {
        const QemuProgram qemu = find_qemu();
        Diagnosis result = {"QEMU", Health::good,
                            fmt::format("{} at {}", qemu.version, qemu.path.string()), ""};
        if (!qemu.sufficient()) {
            result.health = Health::bad;
            result.remedy =
                fmt::format("{}.{} or newer is needed: run ./setup", kMinQemuMajor, kMinQemuMinor);
        }
        return result;
    } catch (const Error &error) {
        return {"QEMU", Health::bad, error.what(), "run ./setup"};
    }
}

Diagnosis examine_plugins()
{
    const char *name = "TCG plugins";
    try {
        const PluginProbe probe = probe_plugin(find_qemu());
        if (!probe.loads)
            return {name, Health::bad, "a plugin does not load: " + probe.detail,
                    "use a QEMU built with --enable-plugins (FENCEPOST_QEMU)"};
        const std::string levels =
            fmt::format("a plugin loads; interface levels {} to {}", probe.min_level, probe.level);
        if (probe.min_level > kMaxPluginLevel || probe.level < kMinPluginLevel)
            return {name, Health::bad, levels,
                    fmt::format("levels {} to {} are supported: use another QEMU (FENCEPOST_QEMU)",
                                kMinPluginLevel, kMaxPluginLevel)};
        return {name, Health::good, levels, ""};
    } catch (const Error &error) {
        return {name, Health::bad, error.what(), "fix QEMU first"};
    }
}

Diagnosis examine_kvm(const fs::path &cache, bool image_fresh)
{
    const KvmProbe probe = probe_kvm("/dev/kvm", [&] {
        if (!image_fresh)
            fail(ErrorKind::guest, "there is no guest image to try it with");
        boot_kvm_guest(cache, images::kDefaultImage, std::chrono::seconds(20));
    });
    switch (probe.state) {
    case KvmState::works:
        return {"KVM", Health::good, probe.detail, ""};
    case KvmState::no_permission:
        return {"KVM", Health::limited, probe.detail, "join the group kvm, or go on with TCG"};
    case KvmState::broken:
        return {"KVM", Health::limited, probe.detail, "nothing: TCG is used"};
    case KvmState::absent:
        break;
    }
    return {"KVM", Health::limited, probe.detail, "nothing: TCG is used"};
}

Diagnosis examine_libvirt([[maybe_unused]] const fs::path &cache)
{
#ifdef FENCEPOST_LIBVIRT
    try {
        LibvirtBackend(find_qemu(), "", cache);
        return {"libvirt", Health::good, "the embedded driver connects", ""};
    } catch (const Error &error) {
        return {"libvirt", Health::limited, error.what(), "run ./setup, or use --backend process"};
    }
#else
    return {"libvirt", Health::limited, "built without it",
            "build with -Dlibvirt=enabled, or use --backend process"};
#endif
}

Diagnosis examine_tool(const char *program, const std::vector<std::string> &version_arguments,
                       const char *use)
{
    const auto path = find_program(program);
    if (!path)
        return {program, Health::bad, fmt::format("not installed ({})", use), "run ./setup"};
    std::vector<std::string> command = {path->string()};
    command.insert(command.end(), version_arguments.begin(), version_arguments.end());
    const CommandResult result =
        run_command(command, {.deadline = Deadline::after(std::chrono::seconds(20))});
    const std::string &said = result.output.empty() ? result.errors : result.output;
    return {program, Health::good, said.substr(0, said.find('\n')), ""};
}

// Found out by trying: bubblewrap may be there and not be allowed to make namespaces.
Diagnosis examine_sandbox()
{
    const auto path = find_program("bwrap");
    if (!path)
        return {"sandbox", Health::bad, "bubblewrap is not installed (fsck oracles run in it)",
                "run ./setup"};
    const auto attempt = [&](const char *more) {
        return run_command(
            {path->string(), more, "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "true"},
            {.deadline = Deadline::after(std::chrono::seconds(20))});
    };
    const CommandResult result = attempt("--unshare-user");
    if (!result.success() && geteuid() == 0 && attempt("--unshare-ipc").success())
        return {"sandbox", Health::good,
                "bubblewrap runs programs as nobody and without network; no user namespaces here",
                ""};
    if (!result.success())
        return {"sandbox", Health::limited, result.last_words(),
                "allow user namespaces, or use only oracles that need no program: --oracle "
                "mount,semantic,usable"};
    return {"sandbox", Health::good, "bubblewrap runs programs without privileges or network", ""};
}

Diagnosis examine_image(const fs::path &cache)
{
    const images::ImageStore store(cache);
    try {
        const images::Image image = store.open();
        if (const auto reason = store.stale_reason(images::kDefaultImage))
            return {"guest image", Health::limited, "stale: " + *reason, "fencepost image build"};
        return {"guest image", Health::good, fmt::format("fresh, kernel {}", image.kernel_release),
                ""};
    } catch (const Error &error) {
        return {"guest image", Health::bad, error.what(), "fencepost image build"};
    }
}

Diagnosis examine_templates(const fs::path &cache)
{
    int fresh = 0;
    int stale = 0;
    for (const TemplateStatus &status : TemplateStore::list(cache))
        ++(status.stale_reason.empty() ? fresh : stale);
    const std::string counts = fmt::format("{} fresh, {} stale or damaged", fresh, stale);
    if (stale)
        return {"templates", Health::limited, counts,
                "they are never used; fencepost image prune removes them"};
    return {"templates", Health::good, counts, ""};
}

Diagnosis examine_disk(const fs::path &cache)
{
    make_directories(cache);
    const std::uint64_t left = free_bytes(cache);
    Diagnosis result = {"disk", Health::good,
                        fmt::format("{:.1f} GiB free for {}", static_cast<double>(left) / (1 << 30),
                                    cache.string()),
                        ""};
    if (left < kWantedDisk) {
        result.health = Health::limited;
        result.remedy = "free some, or set FENCEPOST_CACHE to a place with 4 GiB";
    }
    return result;
}

} // namespace

const char *to_string(Health health)
{
    return health == Health::good ? "good" : health == Health::limited ? "limited" : "bad";
}

void examine(const fs::path &cache, const std::function<void(const Diagnosis &)> &report)
{
    report(examine_qemu());
    report(examine_plugins());
    report(examine_libvirt(cache));
    report(examine_tool("mkfs.ext4", {"-V"}, "formats ext4"));
    report(examine_tool("mkfs.xfs", {"-V"}, "formats XFS"));
    report(examine_tool("e2fsck", {"-V"}, "checks ext4"));
    report(examine_tool("xfs_repair", {"-V"}, "checks XFS"));
    report(examine_sandbox());
    report(examine_disk(cache));
    const Diagnosis image = examine_image(cache);
    report(image);
    report(examine_templates(cache));
    report(examine_kvm(cache, image.health != Health::bad));
}

} // namespace fencepost::guest
