// SPDX-License-Identifier: GPL-2.0-or-later
// See kernel_package.h.
#include "guest-images/image/kernel_package.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "guest-images/image/bzimage.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

// Releases differ in whether kernel and modules come in one package.
bool has_kernel_parts(const std::string &name)
{
    return name.starts_with("linux-image-") || name.starts_with("linux-modules-") ||
           name.starts_with("linux-binary-");
}

std::vector<Package> resolve(const PackageStore &store, const std::string &name)
{
    std::vector<Package> packages;
    std::set<std::string> tried = {name};
    std::vector<std::string> names = {name};
    while (!names.empty()) {
        const auto records = apt_show(names);
        if (!records.contains(name) && packages.empty() && tried.size() == 1)
            fail_unknown_package(name);
        names.clear();
        std::vector<PackageRecord> full;
        for (const auto &[asked, record] : records) {
            bool leads_on = false;
            for (const std::string &depended : record.depends) {
                if (!has_kernel_parts(depended))
                    continue;
                leads_on = true;
                if (tried.insert(depended).second)
                    names.push_back(depended);
            }
            // A metapackage has nothing in it; it says so by pointing at another kernel image.
            if (!leads_on || asked != name)
                full.push_back(record);
        }
        for (Package &package : store.fetch(full))
            packages.push_back(std::move(package));
    }
    return packages;
}

std::vector<fs::path> sorted_entries(const fs::path &directory)
{
    std::vector<fs::path> paths;
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
        paths.push_back(at->path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

fs::path find_boot_image(const fs::path &tree)
{
    for (const fs::path &file : sorted_entries(tree / "boot")) {
        if (file.filename().string().starts_with("vmlinuz-") && fs::is_regular_file(file))
            return file;
    }
    for (const char *modules : {"usr/lib/modules", "lib/modules"}) {
        for (const fs::path &directory : sorted_entries(tree / modules)) {
            if (fs::is_regular_file(directory / "vmlinuz"))
                return directory / "vmlinuz";
        }
    }
    return {};
}

// Debian's is a stub of one line that says where the real one is.
bool is_real_system_map(const fs::path &file)
{
    constexpr std::uintmax_t kStub = 4096;
    return fs::is_regular_file(file) && fs::file_size(file) > kStub;
}

} // namespace

std::vector<Package> kernel_packages(const PackageStore &store, const std::string &name,
                                     bool refresh)
{
    // The name becomes part of a file name and an argument of apt.
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '.' || c == '+' || c == '_';
    };
    if (name.empty() || name[0] == '-' || name[0] == '.' ||
        !std::all_of(name.begin(), name.end(), plain))
        fail(ErrorKind::usage, "'{}' is not the name of a Debian package", name);
    const std::string key = "kernel-" + name;
    if (!refresh) {
        if (auto selected = store.selection(key))
            return std::move(*selected);
    }
    std::vector<Package> packages = resolve(store, name);
    find_kernel(packages);
    store.save_selection(key, packages);
    return packages;
}

PackagedKernel find_kernel(const std::vector<Package> &packages)
{
    PackagedKernel found;
    for (const Package &package : packages) {
        if (found.kernel.empty())
            found.kernel = find_boot_image(package.tree);
    }
    if (found.kernel.empty())
        fail(ErrorKind::usage, "there is no kernel in the package {}: give a package such as {}",
             packages.empty() ? "asked for" : packages.front().name, "linux-image-amd64");
    found.release = read_bzimage(found.kernel).release;
    for (const Package &package : packages) {
        for (const char *modules : {"usr/lib/modules", "lib/modules"}) {
            const fs::path directory = package.tree / modules / found.release;
            if (!found.modules && fs::is_directory(directory))
                found.modules = directory;
        }
        const fs::path map = package.tree / "boot" / ("System.map-" + found.release);
        if (!found.system_map && is_real_system_map(map))
            found.system_map = map;
    }
    return found;
}

} // namespace fencepost::images
