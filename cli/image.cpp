// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost image`, and `fencepost image build`: makes guest images.
#include "cli/image_verbs.h"

#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/deadline.h"
#include "base/places.h"
#include "guest-images/image/image_store.h"

namespace fencepost::cli {

namespace {

using images::BuildRequest;
using images::BuildResult;
using images::Image;
using images::ImageStore;

// As CLI11 fills it: options that are not given stay empty.
struct BuildOptions {
    BuildRequest request;
    std::string kernel;
    std::string modules;
    std::vector<std::string> module_files;
    std::vector<std::string> extra;
    std::string packages;
};

BuildRequest to_request(const BuildOptions &options)
{
    BuildRequest request = options.request;
    if (!options.kernel.empty())
        request.kernel = options.kernel;
    if (!options.modules.empty())
        request.modules = options.modules;
    if (!options.packages.empty())
        request.package_directory = options.packages;
    for (const std::string &text : options.module_files)
        request.module_files.push_back(images::parse_module_request(text));
    request.extra.assign(options.extra.begin(), options.extra.end());
    return request;
}

void build(const BuildOptions &options, const Context &context)
{
    const Stopwatch stopwatch;
    const BuildResult result =
        ImageStore(cache_directory()).build(to_request(options), [&](const std::string &line) {
            progress(context, line);
        });
    const double seconds = stopwatch.seconds();
    if (context.settings.json) {
        nlohmann::json document = image_to_json(result.image);
        document["reused"] = result.reused;
        document["seconds"] = seconds;
        print_json(document);
        return;
    }
    const Image &image = result.image;
    fmt::print("image {}: Linux {}, {} modules, kernel {:.1f} MB, initrd {:.1f} MB\n", image.name,
               image.kernel_release, image.modules.size(), megabytes(image.kernel_bytes),
               megabytes(image.initrd_bytes));
    fmt::print("{} in {}, {:.2f} s\n", result.reused ? "up to date" : "built",
               image.directory.string(), seconds);
}

void add_build(App &verb, Context &context)
{
    auto options = std::make_shared<BuildOptions>();
    App *command = verb.add_subcommand("build", "Make a guest image, or find it up to date");
    command->add_option("--name", options->request.name, "Name of the image")
        ->capture_default_str();
    auto *kernel = command->add_option("--kernel", options->kernel, "Your own kernel, a bzImage");
    command
        ->add_option("--kernel-package", options->request.kernel_package,
                     "Debian package with the kernel")
        ->capture_default_str()
        ->excludes(kernel);
    command->add_option("--modules", options->modules, "Directory with the modules of the kernel");
    command
        ->add_option("--module", options->module_files,
                     "Module that must be loaded, FILE.ko[:name=value,...]; may be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--extra", options->extra,
                     "Directory that is merged into the guest's root; may be repeated")
        ->allow_extra_args(false);
    command->add_flag_callback(
        "--no-packages", [options] { options->request.packages = false; },
        "No Debian user space: the agent, the modules and --extra only");
    command->add_option("--packages", options->packages,
                        "Where Debian packages are kept instead of in the cache");
    command->add_flag("--refresh", options->request.refresh, "Ask apt for newer packages");
    command->examples({{"image build", "Debian's cloud kernel"},
                       {"image build --name mine --kernel bzImage --modules lib/modules/6.1",
                        "a kernel of yours"}});
    command->callback([options, &context] { build(*options, context); });
}

} // namespace

nlohmann::json image_to_json(const Image &image)
{
    return {{"name", image.name},
            {"directory", image.directory.string()},
            {"kernel", image.kernel.string()},
            {"initrd", image.initrd.string()},
            {"kernel_release", image.kernel_release},
            {"digest", image.digest},
            {"modules", image.modules},
            {"kernel_bytes", image.kernel_bytes},
            {"initrd_bytes", image.initrd_bytes}};
}

void add_image(App &app, Context &context)
{
    App *verb = app.add_subcommand("image", "Guest images and templates: build, list, prune, try");
    verb->require_subcommand();
    add_build(*verb, context);
    add_image_list(*verb, context);
    add_image_try(*verb, context);
}

} // namespace fencepost::cli
