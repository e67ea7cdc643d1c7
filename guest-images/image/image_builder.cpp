// SPDX-License-Identifier: GPL-2.0-or-later
// See image_builder.h.
#include "guest-images/image/image_builder.h"

#include <algorithm>
#include <memory>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/bzimage.h"
#include "guest-images/image/cpio_writer.h"
#include "guest-images/image/extra_tree.h"
#include "guest-images/image/guest_tree.h"
#include "guest-images/image/kernel_package.h"
#include "guest-images/image/module_catalog.h"
#include "guest-images/image/package_store.h"
#include "guest-images/image/recipe.h"
#include "guest-images/image/user_space.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr const char *kModuleList = "etc/fencepost/modules";

class Builder {
public:
    Builder(const BuildRequest &request, const BuildPlaces &places,
            const std::function<void(const std::string &)> &progress)
        : request_(request), places_(places), progress_(progress)
    {
        manifest_.name = request.name;
        manifest_.request = request;
    }

    Manifest run()
    {
        add_input({.kind = InputKind::recipe,
                   .name = "fencepost",
                   .version = std::to_string(kRecipeVersion)});
        // A user's mistake should show before anything is downloaded.
        check_user_inputs();
        if (request_.packages || !request_.kernel)
            store_ = std::make_unique<PackageStore>(places_.packages, progress_);
        choose_kernel();
        add_base();
        if (request_.packages) {
            const std::vector<Package> packages = user_space_packages(*store_, request_.refresh);
            add_package_inputs(packages);
            add_user_space(tree_, packages);
        }
        add_modules();
        for (const fs::path &directory : request_.extra) {
            add_input({.kind = InputKind::extra,
                       .name = directory.filename().string(),
                       .digest = extra_digest(directory),
                       .path = directory});
            add_extra(tree_, directory);
        }
        write();
        return std::move(manifest_);
    }

private:
    void add_input(Input input) { manifest_.inputs.push_back(std::move(input)); }

    void add_package_inputs(const std::vector<Package> &packages)
    {
        for (const Package &package : packages)
            add_input({.kind = InputKind::package,
                       .name = package.name,
                       .version = package.version,
                       .digest = package.digest});
    }

    void check_user_inputs()
    {
        GuestTree scratch;
        for (const fs::path &directory : request_.extra)
            add_extra(scratch, directory);
        ModuleCatalog catalog("");
        for (const ModuleRequest &module : request_.module_files) {
            catalog.add_file(module.file);
            parse_module_info(read_module(module.file), module.file);
        }
        if (request_.kernel)
            manifest_.kernel_release = read_bzimage(*request_.kernel).release;
        if (request_.modules)
            find_modules(*request_.modules, manifest_.kernel_release);
    }

    void choose_kernel()
    {
        if (request_.kernel) {
            kernel_ = *request_.kernel;
            add_input({.kind = InputKind::kernel,
                       .name = kernel_.filename().string(),
                       .version = manifest_.kernel_release,
                       .digest = file_digest(kernel_),
                       .path = kernel_});
        } else {
            const std::vector<Package> packages =
                kernel_packages(*store_, request_.kernel_package, request_.refresh);
            add_package_inputs(packages);
            const PackagedKernel found = find_kernel(packages);
            kernel_ = found.kernel;
            modules_ = found.modules;
            system_map_ = found.system_map;
            manifest_.kernel_release = found.release;
        }
        if (request_.modules)
            modules_ = find_modules(*request_.modules, manifest_.kernel_release);
    }

    void add_base()
    {
        for (const char *directory : {"dev", "etc", "mnt", "proc", "root", "run", "sys", "tmp",
                                      "usr/bin", "usr/sbin", "var"})
            tree_.add(directory, TreeDirectory());
        // The kernel opens it for PID 1 before anything is mounted.
        tree_.add("dev/console", TreeCharDevice{5, 1});
        tree_.add("etc/passwd",
                  TreeFile{std::string("root:x:0:0:root:/root:/bin/sh\n"
                                       "nobody:x:65534:65534:nobody:/:/bin/false\n")});
        tree_.add("etc/group", TreeFile{std::string("root:x:0:\nnogroup:x:65534:\n")});
        tree_.add("init", TreeFile{places_.agent, true});
        add_input({.kind = InputKind::agent,
                   .name = places_.agent.filename().string(),
                   .digest = file_digest(places_.agent)});
        if (places_.mark.empty())
            return;
        tree_.add(fs::path("usr/bin") / places_.mark.filename(), TreeFile{places_.mark, true});
        add_input({.kind = InputKind::marker_program,
                   .name = places_.mark.filename().string(),
                   .digest = file_digest(places_.mark)});
    }

    void add_modules()
    {
        ModuleCatalog catalog(manifest_.kernel_release);
        if (modules_)
            catalog.add_directory(*modules_);
        if (request_.modules)
            add_input({.kind = InputKind::modules,
                       .name = "modules",
                       .digest = modules_digest(*modules_),
                       .path = *modules_});
        std::vector<WantedModule> wanted;
        for (const std::string &name : default_modules())
            wanted.push_back({name});
        std::map<std::string, const ModuleRequest *> asked;
        for (const ModuleRequest &module : request_.module_files) {
            const std::string name = catalog.add_file(module.file);
            if (!asked.emplace(name, &module).second)
                fail(ErrorKind::usage, "the module {} is given twice", name);
            wanted.push_back({name, true});
        }
        const LoadOrder order =
            load_order(wanted, [&](const std::string &name) { return catalog.node(name); });
        for (const LeftOut &left_out : order.left_out)
            progress_(fmt::format("leaving out the module {}: {}", left_out.name, left_out.reason));

        std::string list;
        for (const std::string &name : order.modules) {
            const auto request = asked.find(name);
            const std::vector<std::string> parameters =
                request == asked.end() ? std::vector<std::string>() : request->second->parameters;
            list += add_module(name, *catalog.find(name), parameters) + "\n";
            const fs::path &file = catalog.find(name)->file;
            if (request != asked.end() || request_.modules)
                add_input({.kind = InputKind::module,
                           .name = name,
                           .digest = file_digest(file),
                           .path = file});
        }
        tree_.add(kModuleList, TreeFile{list});
    }

    // Returns its line in the list that the agent reads.
    std::string add_module(const std::string &name, const ModuleCatalog::Module &module,
                           const std::vector<std::string> &parameters)
    {
        std::string line = fmt::format("/lib/modules/{}/{}.ko", manifest_.kernel_release, name);
        tree_.add(fs::path(line).relative_path(), TreeFile{module.bytes});
        manifest_.modules.push_back({name, line, parameters});
        for (const std::string &parameter : parameters) {
            // The kernel would only log a parameter that it does not know, where nobody looks.
            const std::string key = parameter.substr(0, parameter.find('='));
            const std::vector<std::string> &known = module.info.parameters;
            if (std::find(known.begin(), known.end(), key) == known.end())
                fail(ErrorKind::usage, "the module {} has no parameter {}", module.file.string(),
                     key);
            line += " " + parameter;
        }
        return line;
    }

    void write()
    {
        progress_("packing the initrd");
        write_file(places_.output / kKernelFile, read_file(kernel_));
        if (system_map_)
            write_file(places_.output / kSystemMapFile, read_file(*system_map_));
        write_cpio(tree_, places_.output / kInitrdFile);
        measure_files(manifest_, places_.output);
        write_manifest(manifest_, places_.output);
    }

    const BuildRequest &request_;
    const BuildPlaces &places_;
    const std::function<void(const std::string &)> &progress_;
    Manifest manifest_;
    GuestTree tree_;
    std::unique_ptr<PackageStore> store_; // holds its lock until the files have been read
    fs::path kernel_;
    std::optional<fs::path> modules_;
    std::optional<fs::path> system_map_;
};

} // namespace

Manifest build_image(const BuildRequest &request, const BuildPlaces &places,
                     const std::function<void(const std::string &)> &progress)
{
    return Builder(request, places, progress).run();
}

} // namespace fencepost::images
