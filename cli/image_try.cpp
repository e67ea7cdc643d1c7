// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost image try`: restores a guest and uses its PM, step by step.
#include "base/byte_size.h"
#include "cli/image_verbs.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "replayer/guest/qemu_command.h"
#include "replayer/guest/trial.h"

namespace fencepost::cli {

namespace {

using namespace fencepost::guest;

struct TryOptions {
    TrialRequest request;
    std::string pm_size = "128M";
    std::string ram = "512M";
    unsigned pm_devices = 1;
    std::string attach = "nvdimm";
    std::string clock = "host";
    std::string format_in = "host";
    std::string backend = "process";
    bool dry_run = false;
};

TrialRequest to_request(const TryOptions &options)
{
    TrialRequest request = options.request;
    request.config.ram = parse_size(options.ram);
    const PmAttach attach = options.attach == "e820" ? PmAttach::e820 : PmAttach::nvdimm;
    request.config.pm.assign(options.pm_devices, PmConfig{parse_size(options.pm_size), attach});
    request.config.clock = options.clock == "icount" ? Clock::icount : Clock::host;
    request.format_in = options.format_in == "guest" ? FormatIn::guest : FormatIn::host;
    validate(request.config);
    return request;
}

void run_try(Context &context, const TryOptions &options)
{
    const TrialRequest request = to_request(options);
    const std::filesystem::path cache = cache_directory();
    const std::unique_ptr<Backend> backend = make_backend(options.backend, cache);
    TemplateStore store(cache, *backend);
    if (options.dry_run) {
        std::printf("%s\n", shown_command(store.shown_plan(request.config)).c_str());
        return;
    }
    nlohmann::json steps = nlohmann::json::array();
    run_trial(
        store, cache, request, [&](const std::string &line) { progress(context, line); },
        [&](const TrialStep &step) {
            steps.push_back(
                {{"name", step.name}, {"detail", step.detail}, {"seconds", step.seconds}});
            if (context.settings.json)
                return;
            std::printf("%-9s %7.3f s  %s\n", step.name.c_str(), step.seconds, step.detail.c_str());
            std::fflush(stdout);
        });
    if (context.settings.json)
        print_json({{"backend", options.backend}, {"steps", steps}});
}

} // namespace

void add_image_try(App &image, Context &context)
{
    App *verb = image.add_subcommand(
        "try", "Restores a guest, formats and mounts its PM with DAX, writes and reads a file");
    auto options = std::make_shared<TryOptions>();
    verb->add_option("--name", options->request.config.image, "Which image")->capture_default_str();
    verb->add_option("--fs", options->request.file_system, "File system: ext4 or xfs")
        ->capture_default_str();
    verb->add_option("--pm-size", options->pm_size, "Size of each PM device, 16M to 1G")
        ->capture_default_str();
    verb->add_option("--pm-devices", options->pm_devices, "How many PM devices, 1 to 4")
        ->capture_default_str();
    verb->add_option("--attach", options->attach,
                     "How PM is attached; e820 for kernels without NFIT")
        ->one_of({"nvdimm", "e820"})
        ->capture_default_str();
    verb->add_option("--ram", options->ram, "The guest's RAM")->capture_default_str();
    verb->add_option("--cpus", options->request.config.cpus, "The guest's CPUs")
        ->capture_default_str();
    verb->add_option("--clock", options->clock,
                     "Guest time: the host's, or instructions counted (as for recording)")
        ->one_of({"host", "icount"})
        ->capture_default_str();
    verb->add_option("--format-in", options->format_in, "Where mkfs runs")
        ->one_of({"host", "guest"})
        ->capture_default_str();
    verb->add_option("--backend", options->backend, "process, libvirt, or libvirt:URI")
        ->capture_default_str();
    verb->add_option("--kernel-arguments", options->request.config.kernel_arguments,
                     "Appended to the kernel's command line");
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and do nothing");
    verb->examples({{"image try --fs xfs", "XFS-DAX on an NVDIMM"},
                    {"image try --attach e820 --name mine", "a kernel without NFIT"}});
    verb->callback([&context, options] { run_try(context, *options); });
}

} // namespace fencepost::cli
