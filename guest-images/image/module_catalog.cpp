// SPDX-License-Identifier: GPL-2.0-or-later
// See module_catalog.h. Debian's packages carry no modules.dep, so the modules themselves are read.
#include "guest-images/image/module_catalog.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr const char *kBuiltInList = "modules.builtin";

// Links such as `build` and `source` lead out of the directory and are not followed.
std::vector<fs::path> module_files(const fs::path &directory)
{
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        std::error_code ignored;
        if (at->is_regular_file(ignored) && !module_name(at->path()).empty())
            files.push_back(at->path());
    }
    if (error)
        fail_errno(fmt::format("cannot read the modules in {}", directory.string()), error.value());
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

void ModuleCatalog::add_directory(const fs::path &directory)
{
    for (const fs::path &file : module_files(directory))
        files_.try_emplace(module_name(file), file);
    if (!fs::exists(directory / kBuiltInList))
        return;
    std::istringstream lines(read_file(directory / kBuiltInList));
    for (std::string line; std::getline(lines, line);)
        built_in_.insert(module_name(fs::path(line)));
}

std::string ModuleCatalog::add_file(const fs::path &file)
{
    const std::string name = module_name(file);
    if (!fs::exists(file))
        fail(ErrorKind::usage, "there is no module at {}", file.string());
    if (name.empty() || !fs::is_regular_file(file))
        fail(ErrorKind::usage, "{} is not a kernel module: give a file that ends in .ko",
             file.string());
    files_[name] = file;
    built_in_.erase(name);
    return name;
}

const ModuleCatalog::Module *ModuleCatalog::find(const std::string &name)
{
    if (const auto known = read_.find(name); known != read_.end())
        return &known->second;
    const auto file = files_.find(name);
    if (file == files_.end())
        return nullptr;
    Module module{.file = file->second, .bytes = read_module(file->second), .info = {}};
    module.info = parse_module_info(module.bytes, module.file);
    if (release_.empty())
        fail(ErrorKind::usage,
             "the kernel does not state its release, so {} cannot be known to fit it",
             module.file.string());
    if (module.info.release != release_)
        fail(ErrorKind::usage, "{} is for kernel {}, but the image's kernel is {}",
             module.file.string(), module.info.release, release_);
    return &read_.emplace(name, std::move(module)).first->second;
}

ModuleNode ModuleCatalog::node(const std::string &name)
{
    if (const Module *module = built_in_.contains(name) ? nullptr : find(name))
        return {ModulePresence::file, module->info.depends, module->info.soft_depends};
    return {built_in_.contains(name) ? ModulePresence::built_in : ModulePresence::absent};
}

fs::path find_modules(const fs::path &directory, const std::string &release)
{
    if (!fs::is_directory(directory))
        fail(ErrorKind::usage, "there is no directory of modules at {}", directory.string());
    if (!release.empty()) {
        for (const fs::path &inner : {fs::path(release), fs::path("lib/modules") / release}) {
            if (fs::is_directory(directory / inner))
                return directory / inner;
        }
    }
    return directory;
}

std::string modules_digest(const fs::path &directory)
{
    Digest digest;
    for (const fs::path &file : module_files(directory))
        digest.add(file.lexically_relative(directory).string());
    if (fs::exists(directory / kBuiltInList))
        digest.add_file(directory / kBuiltInList);
    return digest.hex();
}

} // namespace fencepost::images
