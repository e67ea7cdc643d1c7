// SPDX-License-Identifier: GPL-2.0-or-later
// Templates: guests booted once, frozen when their agent was ready, and restored ever after.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest-images/image/image_store.h"
#include "replayer/guest/guest.h"
#include "replayer/guest/recording_guest.h"

namespace fencepost::guest {

struct Template {
    std::string key; // the digest of everything it depends on; its directory's name
    std::filesystem::path directory;
    GuestConfig config;
    std::string backend;
    std::string qemu;
    std::string image_digest;
    std::string kernel_release;
    ChannelKind channel = ChannelKind::virtio;
    std::vector<agent::PmDevice> pm_devices; // as the guest sees them
    double boot_seconds = 0;

    std::filesystem::path ram_file() const { return directory / "ram"; }
    std::filesystem::path state_file() const { return directory / "state"; }
    // Of a recording guest: /proc/kallsyms and /proc/modules at the freeze.
    std::filesystem::path kallsyms_file() const { return directory / "kallsyms"; }
    std::filesystem::path modules_file() const { return directory / "modules"; }
};

struct TemplateStatus {
    std::string key;
    std::optional<Template> known; // nothing if the manifest cannot be read
    std::string stale_reason;      // empty: fresh
    std::uint64_t bytes = 0;       // on disk
};

class TemplateStore {
public:
    using Progress = std::function<void(const std::string &line)>;

    // Also sweeps what earlier processes left behind.
    TemplateStore(std::filesystem::path cache, Backend &backend);

    // The template for this configuration: the cached one if it is whole, else made anew. Two
    // processes that want the same one make it once.
    Template ensure(const GuestConfig &config, const Progress &progress);
    // Boots a guest that will not be frozen. RAM lives in `ram_file`.
    std::unique_ptr<Guest> boot(const GuestConfig &config, const std::filesystem::path &ram_file,
                                const std::vector<std::filesystem::path> &pm_files,
                                Deadline deadline, Hello *hello = nullptr);
    // A guest whose agent has answered a ping. `pm_files` replace the PM the template was made
    // with.
    std::unique_ptr<Guest> restore(const Template &source,
                                   const std::vector<std::filesystem::path> &pm_files,
                                   Deadline deadline,
                                   const std::vector<std::string> &extra_arguments = {});

    // A recording guest that stands where its template was frozen: it goes on with resume(). The
    // mailbox holds its job already.
    std::unique_ptr<RecordingGuest>
    restore_recording(const Template &source, const std::vector<std::filesystem::path> &pm_files,
                      const RecordingFiles &files, Deadline deadline,
                      const std::vector<std::string> &extra_arguments = {});

    // Of every backend, sorted by key.
    static std::vector<TemplateStatus> list(const std::filesystem::path &cache);
    // Removes templates that are stale; returns how many.
    static int prune(const std::filesystem::path &cache);

    MachinePlan plan(const GuestConfig &config, const std::filesystem::path &ram_file,
                     const std::vector<std::filesystem::path> &pm_files) const;
    // Of a restored guest, to be shown: RAM and PM stand for its files.
    MachinePlan shown_plan(const GuestConfig &config) const;

private:
    std::string key_of(const GuestConfig &config) const;
    Template build(const GuestConfig &config, const std::string &key, const Progress &progress);
    // Leaves a stopped machine, and in `made` what the guest said about itself.
    std::unique_ptr<Machine> boot_recording(const MachinePlan &plan, Template &made, Hello &hello);

    std::filesystem::path cache_;
    images::ImageStore images_;
    Backend &backend_;
};

} // namespace fencepost::guest
