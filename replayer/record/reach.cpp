// SPDX-License-Identifier: GPL-2.0-or-later
// See reach.h.
#include "replayer/record/reach.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>

#include "guest-images/agent/step_note.h"

namespace fencepost::record {

namespace {

constexpr const char *kNothing = "nothing_reached_pm";
constexpr const char *kWithoutDax = "mounted_without_dax";
constexpr const char *kVolatile = "program_flushes_of_volatile_memory";
constexpr std::array<std::string_view, 4> kNames = {kNothing, kWithoutDax, kVolatile,
                                                    trace::kLostFlushes};

// The others either have no page cache or no DAX.
constexpr std::array kDaxIsAChoice = {"ext2", "ext4", "xfs"};

constexpr std::size_t kMostPaths = 64; // one that is below the mount point is enough

bool makes_name(const trace::Marker &call)
{
    return call.number == SYS_mkdir || call.number == SYS_mkdirat || call.number == SYS_creat ||
           (call.number == SYS_open && call.arguments.size() > 1 && call.arguments[1] & O_CREAT) ||
           (call.number == SYS_openat && call.arguments.size() > 2 &&
            call.arguments[2] & O_CREAT) ||
           call.number == SYS_rename || call.number == SYS_symlink;
}

std::optional<std::uint64_t> workload_begin(const trace::TraceReader &reader)
{
    std::optional<std::uint64_t> begin;
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        if (!begin && row.kind == trace::MarkerKind::note &&
            row.marker.text == agent::kWorkloadNote)
            begin = row.seq;
    });
    return begin;
}

// What a workload did, by its markers: operations that say that they succeeded, and calls that make
// a name.
void note_work(const trace::TraceReader &reader, Reach &reach)
{
    std::map<std::uint64_t, std::string> entered; // by process
    reader.for_each_marker([&](const trace::MarkerRow &row) {
        const trace::Marker &marker = row.marker;
        if (row.kind == trace::MarkerKind::op_end && marker.result >= 0)
            ++reach.operations;
        else if (row.kind == trace::MarkerKind::syscall_enter)
            entered[marker.process] = makes_name(marker) ? marker.text : "";
        else if (row.kind == trace::MarkerKind::syscall_exit && marker.result >= 0 &&
                 !entered[marker.process].empty() && reach.made.size() < kMostPaths)
            reach.made.insert(entered[marker.process]);
    });
}

// Relative paths are: a workload starts at the mount point.
bool worked_below(const std::string &target, const Reach &reach, const run::Inputs &inputs)
{
    if (run::workload_of(inputs).kind == agent::StepKind::ops)
        return reach.operations != 0;
    return std::any_of(reach.made.begin(), reach.made.end(), [&](const std::string &path) {
        return !path.starts_with('/') || path.starts_with(target + "/");
    });
}

std::string why_nothing(const agent::MountRequest *mount, bool without_dax, bool worked)
{
    if (!mount)
        return "what is written to /dev/pmem0, or stored to a mapping of it, stays in the page "
               "cache until it is synced: "
               "let the workload sync it, or give it a file system with dax ([file_system])";
    if (without_dax)
        return fmt::format("{} is mounted with '{}' and not with dax, so all of it stayed in the "
                           "page cache: add dax to "
                           "file_system.mount_options, or let the workload sync",
                           mount->fstype, mount->options);
    if (worked)
        return "nothing was synced: end the workload with sync or fsync, or set workload.unmount = "
               "true";
    return fmt::format("let it write below {}, where the file system is", mount->target);
}

} // namespace

Reach reach_of(const trace::TraceReader &reader)
{
    Reach reach;
    const std::optional<std::uint64_t> begin = workload_begin(reader);
    reach.known = begin.has_value();
    if (!begin)
        return reach;
    constexpr std::uint8_t kStores =
        trace::kind_bit(trace::EventKind::store) | trace::kind_bit(trace::EventKind::nt_store);
    trace::EventScan scan =
        reader.scan({.first_seq = *begin, .kinds = kStores, .with_values = false});
    while (scan.next())
        reach.stores += scan.all_selected() ? scan.events().size() : scan.selected().size();
    note_work(reader, reach);
    std::map<std::string, std::uint64_t> by_module;
    for (const trace::SiteRow &row : reader.sites()) {
        if (row.site.privilege != trace::Privilege::user)
            continue;
        reach.program_flushes += row.counts.flushes;
        reach.volatile_flushes += row.counts.volatile_flushes;
        by_module[row.site.module] += row.counts.volatile_flushes;
    }
    for (const auto &[module, count] : by_module)
        if (count != 0 &&
            (reach.volatile_module.empty() || count > by_module[reach.volatile_module]))
            reach.volatile_module = module;
    return reach;
}

bool mounted_without_dax(const agent::MountRequest &mount, const std::string &kernel_log)
{
    if (std::find(kDaxIsAChoice.begin(), kDaxIsAChoice.end(), mount.fstype) == kDaxIsAChoice.end())
        return false;
    const std::string options = "," + mount.options + ",";
    const bool asked = options.find(",dax,") != std::string::npos ||
                       options.find(",dax=always,") != std::string::npos;
    return !asked || kernel_log.find("Turning off DAX") != std::string::npos;
}

std::vector<trace::DataQuality> reach_counters(const Reach &reach, const run::Inputs &inputs,
                                               const std::string &kernel_log)
{
    const agent::MountRequest *mount = inputs.mount ? &inputs.mount->request : nullptr;
    const bool without_dax = mount && mounted_without_dax(*mount, kernel_log);
    // A program that flushes PM too knows where PM is; that it wastes flushes is what a rule is
    // for.
    const bool lost = reach.volatile_flushes != 0 && reach.program_flushes == 0;
    std::vector<trace::DataQuality> counters;
    counters.push_back(
        {kNothing, !reach.reached(), trace::QualityLevel::warning,
         fmt::format("nothing that the workload wrote reached PM, so no crash state "
                     "shows anything of it; {}",
                     why_nothing(mount, without_dax,
                                 mount && worked_below(mount->target, reach, inputs)))});
    counters.push_back(
        {kWithoutDax, without_dax, trace::QualityLevel::warning,
         mount
             ? fmt::format(
                   "{} is mounted with '{}' and has no DAX: what the workload writes goes through "
                   "the page cache, and only what is written back is tested; add dax to "
                   "file_system.mount_options, which replaces the default 'dax'",
                   mount->fstype, mount->options)
             : std::string("there is no file system")});
    counters.push_back({kVolatile, lost ? static_cast<std::int64_t>(reach.volatile_flushes) : 0,
                        trace::QualityLevel::warning,
                        fmt::format("programs of the workload flushed memory that is not PM, and "
                                    "never PM{}{}: what they map is "
                                    "not PM; let them map a file on a mount with dax",
                                    reach.volatile_module.empty() ? "" : ", most of it in ",
                                    reach.volatile_module)});
    return counters;
}

std::vector<trace::DataQuality> reach_warnings(const trace::TraceReader &reader)
{
    std::vector<trace::DataQuality> warnings;
    const std::vector<trace::DataQuality> counters = reader.data_quality();
    for (const std::string_view name : kNames)
        for (const trace::DataQuality &counter : counters)
            if (counter.name == name && counter.value != 0)
                warnings.push_back(counter);
    return warnings;
}

std::string why_no_pass(const trace::TraceReader &reader)
{
    for (const trace::DataQuality &warning : reach_warnings(reader)) {
        if (warning.name == kNothing)
            return "nothing of the workload reached PM";
        if (warning.name == kVolatile)
            return "the workload's programs flush only memory that is not PM";
    }
    return "";
}

} // namespace fencepost::record
