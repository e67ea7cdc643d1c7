// SPDX-License-Identifier: GPL-2.0-or-later
// See kernel_module.h. The headers come in three packages that expect to be in /usr; here they are
// unpacked in the cache, and a tree of links brings them together.
#include "tests/guest/kernel_module.h"

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "guest-images/image/package_store.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

// Links to everything in `from` that is not in `to` yet.
void link_all(const fs::path &from, const fs::path &to)
{
    fs::create_directories(to);
    for (const fs::directory_entry &entry : fs::directory_iterator(from))
        if (!fs::exists(fs::symlink_status(to / entry.path().filename())))
            fs::create_symlink(entry.path(), to / entry.path().filename());
}

fs::path only_directory_in(const fs::path &directory, const std::string &prefix)
{
    for (const fs::directory_entry &entry : fs::directory_iterator(directory))
        if (entry.path().filename().string().starts_with(prefix))
            return entry.path();
    fail(ErrorKind::guest, "there is no {}* in {}", prefix, directory.string());
}

// What the headers depend on is named differently from one release of Debian to the next.
std::string dependency(const images::Package &package, const std::string &prefix,
                       const std::string &suffix)
{
    for (const std::string &name : package.depends)
        if (name.starts_with(prefix) && name.ends_with(suffix))
            return name;
    fail(ErrorKind::guest, "{} depends on no {}*{}", package.name, prefix, suffix);
}

fs::path make_header_tree(const std::string &kernel_release, const fs::path &root)
{
    const images::PackageStore store(cache_directory() / "packages", [](const std::string &) {});
    const images::Package own = store.fetch({"linux-headers-" + kernel_release}, true).at(0);
    const images::Package common =
        store.fetch({dependency(own, "linux-headers-", "-common")}, true).at(0);
    const images::Package kbuild = store.fetch({dependency(own, "linux-kbuild-", "")}, true).at(0);
    const fs::path tools = only_directory_in(kbuild.tree / "usr/lib", "linux-kbuild");
    for (const images::Package *package : {&own, &common}) {
        const fs::path target = root / package->name;
        fs::create_directories(target);
        fs::create_symlink(tools / "scripts", target / "scripts");
        fs::create_symlink(tools / "tools", target / "tools");
        if (package == &own)
            write_file(target / "Makefile",
                       fmt::format("include {}/Makefile\n", (root / common.name).string()));
        link_all(package->tree / "usr/src" / package->name, target);
    }
    return root / own.name;
}

} // namespace

fs::path build_kernel_module(const std::string &kernel_release,
                             const std::vector<fs::path> &sources, const fs::path &given)
{
    const fs::path directory = fs::absolute(given); // make works elsewhere
    fs::remove_all(directory / "headers");
    const fs::path headers = make_header_tree(kernel_release, directory / "headers");
    const fs::path work = directory / "module";
    fs::create_directories(work);
    for (const fs::path &source : sources)
        fs::copy_file(source, work / source.filename(), fs::copy_options::overwrite_existing);
    const std::string name = sources.at(0).stem();
    if (!fs::exists(work / "Kbuild"))
        write_file(
            work / "Kbuild",
            fmt::format("obj-m := {}.o\nccflags-y := -Wno-declaration-after-statement\n", name));
    const CommandResult result =
        run_command({find_program("make").value().string(), "-s", "-C", headers.string(),
                     "M=" + work.string(), "modules"},
                    {.deadline = Deadline::after(std::chrono::minutes(3))});
    const fs::path module = work / (name + ".ko");
    if (!result.success() || !fs::exists(module))
        fail(ErrorKind::guest, "the module {} cannot be built: {}{}", name, result.output,
             result.errors);
    return module;
}

} // namespace fencepost::guest
