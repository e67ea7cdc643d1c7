// SPDX-License-Identifier: GPL-2.0-or-later
// See template_store.h. A template is a directory: `ram` (sparse), `state` (device state as QEMU's
// migration writes it) and `manifest.json`, which holds the digests of both. It is made under
// another name and renamed, so a directory with a key for its name is complete.
#include "replayer/guest/template_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/digest.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/scratch.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/guest/scratch_sweep.h"
#include "replayer/guest/template_manifest.h"

namespace fencepost::guest {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A boot with -icount takes 12 s on a quiet machine.
constexpr std::chrono::minutes kBootTime(5);
constexpr std::chrono::minutes kFreezeTime(2);
constexpr std::chrono::milliseconds kPollStep(1);

void ignore_shared_memory(Machine &machine, Deadline deadline)
{
    machine.execute(
        "migrate-set-capabilities",
        {{"capabilities", json::array({{{"capability", "x-ignore-shared"}, {"state", true}}})}},
        deadline);
}

void freeze(Machine &machine, const fs::path &state_file)
{
    const Deadline deadline = Deadline::after(kFreezeTime);
    machine.tell("stop", deadline);
    ignore_shared_memory(machine, deadline);
    machine.execute("migrate", {{"uri", "file:" + state_file.string()}}, deadline);
    for (;;) {
        const json answer = machine.execute("query-migrate", json::object(), deadline);
        const std::string status = answer.value("status", "");
        if (status == "completed")
            return;
        if (status == "failed" || status == "cancelled")
            fail(ErrorKind::guest, "QEMU could not freeze the guest: {}",
                 answer.value("error-desc", std::string("no reason given")));
        wait_or_interrupt(kPollStep);
    }
}

void load_state(Machine &machine, const fs::path &state_file, Deadline deadline)
{
    ignore_shared_memory(machine, deadline);
    machine.execute("migrate-incoming", {{"uri", "file:" + state_file.string()}}, deadline);
    for (;;) {
        const json answer = machine.execute("query-status", json::object(), deadline);
        if (answer.value("status", "") != "inmigrate")
            break;
        wait_or_interrupt(kPollStep);
    }
}

void thaw(Machine &machine, const fs::path &state_file, Deadline deadline)
{
    load_state(machine, state_file, deadline);
    machine.tell("cont", deadline);
}

void make_ram_file(const fs::path &path, std::uint64_t size)
{
    require_free_bytes(path.parent_path(), size);
    const Fd fd = open_file(path, O_RDWR | O_CREAT | O_EXCL);
    if (ftruncate(fd.get(), static_cast<off_t>(size)) < 0)
        fail_errno(fmt::format("cannot size {}", path.string()));
}

// Directories of builders that were killed: their lock is free, their name is not a key.
void remove_unfinished(const fs::path &templates)
{
    for (const fs::directory_entry &entry : fs::directory_iterator(templates)) {
        if (entry.path().filename().string().starts_with("new-") && entry.is_directory())
            fs::remove_all(entry.path());
    }
}

} // namespace

TemplateStore::TemplateStore(fs::path cache, Backend &backend)
    : cache_(std::move(cache)), images_(cache_), backend_(backend)
{
    make_directories(cache_ / "templates");
    const Swept swept = sweep_scratch(cache_);
    if (swept.directories)
        spdlog::debug("swept {} leftover directories and {} machines", swept.directories,
                      swept.processes);
}

MachinePlan TemplateStore::plan(const GuestConfig &config, const fs::path &ram_file,
                                const std::vector<fs::path> &pm_files) const
{
    const images::Image image = images_.open(config.image);
    MachinePlan plan;
    plan.config = config;
    plan.kernel = image.kernel;
    plan.initrd = image.initrd;
    plan.ram_file = ram_file;
    plan.pm_files = pm_files;
    return plan;
}

MachinePlan TemplateStore::shown_plan(const GuestConfig &config) const
{
    MachinePlan shown = plan(config, "RAM", std::vector<fs::path>(config.pm.size(), "PM"));
    shown.restore = true;
    return shown;
}

std::string TemplateStore::key_of(const GuestConfig &config) const
{
    const images::Image image = images_.open(config.image);
    return Digest()
        .add(FENCEPOST_VERSION)
        .add(kTemplateFormat)
        .add(backend_.name())
        .add(backend_.identity(plan(config, "", {})))
        .add(image.digest)
        .hex();
}

Template TemplateStore::ensure(const GuestConfig &config, const Progress &progress)
{
    validate(config);
    const std::string key = key_of(config);
    const fs::path directory = cache_ / "templates" / key;
    auto whole = [&]() -> std::optional<Template> {
        if (!fs::exists(directory))
            return std::nullopt;
        try {
            return open_template(directory);
        } catch (const Error &error) {
            if (error.kind() == ErrorKind::interrupted)
                throw;
            progress(fmt::format("{}; making it anew", error.what()));
            return std::nullopt;
        }
    };
    if (auto found = whole())
        return *found;
    const FileLock lock = FileLock::acquire(cache_ / "templates" / "lock");
    if (auto found = whole()) // another process was faster
        return *found;
    remove_unfinished(cache_ / "templates");
    return build(config, key, progress);
}

Template TemplateStore::build(const GuestConfig &config, const std::string &key,
                              const Progress &progress)
{
    progress(fmt::format("booting a guest for a template ({}, {} clock)", config.image,
                         to_string(config.clock)));
    const Stopwatch watch;
    const fs::path directory = cache_ / "templates" / key;
    TemporaryDirectory unfinished(cache_ / "templates", "new-");
    const ScratchDirectory scratch(cache_);
    std::vector<fs::path> pm_files;
    for (std::size_t i = 0; i < config.pm.size(); ++i) {
        pm_files.push_back(scratch.path() / fmt::format("pm{}", i));
        create_pm_file(pm_files.back(), config.pm[i]);
    }
    Template made;
    made.directory = unfinished.path();
    make_ram_file(made.ram_file(), config.ram);
    Hello hello;
    std::unique_ptr<Guest> guest;
    std::unique_ptr<Machine> recording_machine;
    if (config.recording) {
        MachinePlan booted = plan(config, made.ram_file(), pm_files);
        booted.mailbox_file = scratch.path() / "mailbox";
        booted.console_file = scratch.path() / "console";
        recording_machine = boot_recording(booted, made, hello);
    } else {
        guest = boot(config, made.ram_file(), pm_files, Deadline::after(kBootTime), &hello);
    }
    for (const agent::ModuleFailure &failure : hello.module_failures)
        progress(fmt::format("the guest could not load {}: {}", failure.module,
                             strerror(failure.error_number)));
    if (hello.pm_devices.size() < config.pm.size())
        fail(ErrorKind::guest,
             "the guest's kernel shows {} PM devices of {}; a kernel without NFIT needs pm.attach "
             "= \"e820\"",
             hello.pm_devices.size(), config.pm.size());
    made.boot_seconds = watch.seconds();
    if (guest)
        guest->with_agent([](AgentClient &agent) { agent.ping(Deadline::after(kFreezeTime)); });
    Machine &machine = guest ? guest->machine() : *recording_machine;
    freeze(machine, made.state_file());
    machine.tell("quit", Deadline::after(kFreezeTime));

    made.key = key;
    made.config = config;
    made.backend = backend_.name();
    made.qemu = require_qemu().version;
    made.image_digest = images_.open(config.image).digest;
    made.kernel_release = hello.kernel_release;
    made.channel = hello.channel;
    made.pm_devices = hello.pm_devices;
    write_manifest(made);
    std::error_code ignored;
    fs::remove_all(directory, ignored); // a damaged one
    fs::rename(unfinished.path(), directory);
    unfinished.release();
    made.directory = directory;
    progress(fmt::format("template ready after {:.1f} s", watch.seconds()));
    return made;
}

std::unique_ptr<Guest> TemplateStore::boot(const GuestConfig &config, const fs::path &ram_file,
                                           const std::vector<fs::path> &pm_files, Deadline deadline,
                                           Hello *hello)
{
    auto guest =
        std::make_unique<Guest>(backend_.start(plan(config, ram_file, pm_files), deadline));
    const Hello said = guest->wait_for_boot(deadline);
    if (hello)
        *hello = said;
    return guest;
}

std::unique_ptr<Guest> TemplateStore::restore(const Template &source,
                                              const std::vector<fs::path> &pm_files,
                                              Deadline deadline,
                                              const std::vector<std::string> &extra_arguments)
{
    CHECK(pm_files.size() == source.config.pm.size(),
          "one PM file for each PM device of the template");
    MachinePlan restored = plan(source.config, source.ram_file(), pm_files);
    restored.restore = true;
    restored.extra_arguments = extra_arguments;
    auto guest = std::make_unique<Guest>(backend_.start(restored, deadline));
    thaw(guest->machine(), source.state_file(), deadline);
    guest->resume_on(source.channel, deadline);
    return guest;
}

std::unique_ptr<Machine> TemplateStore::boot_recording(const MachinePlan &plan, Template &made,
                                                       Hello &hello)
{
    const RecordingFiles files = {plan.mailbox_file, plan.console_file};
    make_mailbox(files.mailbox, "");
    RecordingGuest guest(backend_.start(plan, Deadline::after(kBootTime)), files);
    const agent::BootReport report = guest.wait_for_boot(Deadline::after(kBootTime));
    write_file(made.kallsyms_file(), report.kallsyms);
    write_file(made.modules_file(), report.modules);
    hello = report.hello;
    return guest.release_machine();
}

std::unique_ptr<RecordingGuest>
TemplateStore::restore_recording(const Template &source, const std::vector<fs::path> &pm_files,
                                 const RecordingFiles &files, Deadline deadline,
                                 const std::vector<std::string> &extra_arguments)
{
    CHECK(source.config.recording, "a template of a recording guest");
    CHECK(pm_files.size() == source.config.pm.size(),
          "one PM file for each PM device of the template");
    MachinePlan restored = plan(source.config, source.ram_file(), pm_files);
    restored.restore = true;
    restored.mailbox_file = files.mailbox;
    restored.console_file = files.console;
    restored.extra_arguments = extra_arguments;
    auto guest = std::make_unique<RecordingGuest>(backend_.start(restored, deadline), files);
    load_state(guest->machine(), source.state_file(), deadline);
    return guest;
}

std::vector<TemplateStatus> TemplateStore::list(const fs::path &cache)
{
    std::vector<TemplateStatus> result;
    std::error_code error;
    for (const fs::directory_entry &entry : fs::directory_iterator(cache / "templates", error)) {
        if (!entry.is_directory() || entry.path().filename().string().starts_with("new-"))
            continue;
        TemplateStatus status;
        status.key = entry.path().filename().string();
        try {
            status.known = open_template(entry.path());
            status.stale_reason = why_stale(*status.known, images::ImageStore(cache));
        } catch (const Error &problem) {
            status.stale_reason = problem.what();
        }
        for (const fs::directory_entry &file : fs::directory_iterator(entry.path(), error)) {
            struct stat numbers;
            if (stat(file.path().c_str(), &numbers) == 0)
                status.bytes += static_cast<std::uint64_t>(numbers.st_blocks) * 512;
        }
        result.push_back(std::move(status));
    }
    std::sort(result.begin(), result.end(),
              [](const TemplateStatus &a, const TemplateStatus &b) { return a.key < b.key; });
    return result;
}

int TemplateStore::prune(const fs::path &cache)
{
    int removed = 0;
    const FileLock lock = FileLock::acquire(cache / "templates" / "lock");
    for (const TemplateStatus &status : list(cache)) {
        if (status.stale_reason.empty())
            continue;
        fs::remove_all(cache / "templates" / status.key);
        ++removed;
    }
    return removed;
}

} // namespace fencepost::guest
