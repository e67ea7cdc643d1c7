// SPDX-License-Identifier: GPL-2.0-or-later
// See test_guest.h.
#include "replayer/test/test_guest.h"

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/guest/kvm_probe.h"
#include "replayer/guest/qemu_command.h"

namespace fencepost::test {

namespace fs = std::filesystem;
using namespace fencepost::guest;

namespace {

constexpr std::chrono::seconds kProbeTime(20);

// A probe that fails takes as long as its deadline, so its answer is kept until the next boot.
std::string probe_key()
{
    std::string boot = read_file("/proc/sys/kernel/random/boot_id");
    boot.erase(boot.find_last_not_of('\n') + 1);
    return fmt::format("{} {}", boot, require_qemu().version);
}

} // namespace

Accelerator best_accelerator(const fs::path &cache, const std::string &image)
{
    const fs::path memory = cache / "kvm-probe";
    const std::string key = probe_key();
    std::error_code error;
    if (fs::exists(memory, error)) {
        const std::string text = read_file(memory);
        if (text.starts_with(key + "\n"))
            return text.substr(key.size() + 1) == "works\n" ? Accelerator::kvm : Accelerator::tcg;
    }
    const KvmProbe probe = probe_kvm("/dev/kvm", [&] { boot_kvm_guest(cache, image, kProbeTime); });
    spdlog::debug("KVM: {}", probe.detail);
    write_file(memory, fmt::format("{}\n{}\n", key, to_string(probe.state)));
    return probe.accelerator();
}

GuestConfig test_config(const fs::path &cache, const GuestConfig &recorded,
                        std::optional<Accelerator> accelerator)
{
    GuestConfig config = recorded;
    config.recording = false;
    config.clock = Clock::host;
    config.accelerator = accelerator ? *accelerator : best_accelerator(cache, config.image);
    return config;
}

TestGuest::TestGuest(const fs::path &cache, const std::string &backend, const GuestConfig &recorded,
                     std::optional<Accelerator> accelerator,
                     const TemplateStore::Progress &progress)
    : cache_(cache), backend_(make_backend(backend, cache)),
      templates_(std::make_unique<TemplateStore>(cache, *backend_))
{
    source_ = templates_->ensure(test_config(cache, recorded, accelerator), progress);
}

std::string TestGuest::describe() const
{
    return fmt::format("{}, {}, {}", source_.backend, to_string(source_.config.accelerator),
                       source_.kernel_release);
}

} // namespace fencepost::test
