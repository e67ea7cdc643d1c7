// SPDX-License-Identifier: GPL-2.0-or-later
// See user_space.h. Names of library packages change from one Debian release to the next, so they
// are not listed anywhere: the dependencies of the packages at hand are followed until every
// library that some program needs has turned up.
#include "guest-images/image/user_space.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/child_process.h"
#include "base/error.h"
#include "guest-images/image/library_closure.h"
#include "guest-images/image/recipe.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr const char *kSelectionKey = "user-space";

struct Program {
    fs::path guest_path;
    fs::path file;      // what it resolves to in the package
    std::string target; // of the link that it is in the package; empty for a file
};

std::vector<fs::path> trees_of(const std::vector<Package> &packages)
{
    std::vector<fs::path> trees;
    for (const Package &package : packages)
        trees.push_back(package.tree);
    return trees;
}

const Package &package_named(const std::vector<Package> &packages, const std::string &name)
{
    const auto found = std::find_if(packages.begin(), packages.end(),
                                    [&](const Package &package) { return package.name == name; });
    if (found == packages.end())
        fail(ErrorKind::guest, "the package {} is not among those selected; use --refresh", name);
    return *found;
}

Program find_program_in(const Package &package, const std::string &name)
{
    for (const char *directory : {"usr/sbin", "sbin", "usr/bin", "bin"}) {
        const fs::path path = fs::path(directory) / name;
        const fs::path file = resolve_in_tree(package.tree, path);
        if (file.empty())
            continue;
        // A link to a neighbour stays a link: mkfs.ext4 and mke2fs are one program.
        const fs::path whole = package.tree / path;
        const std::string target = fs::is_symlink(whole) ? fs::read_symlink(whole).string() : "";
        return {path, file, target.find('/') == std::string::npos ? target : ""};
    }
    fail(ErrorKind::guest,
         "Debian's package {} {} has no program {}; use --refresh for a newer one", package.name,
         package.version, name);
}

std::vector<Program> programs_of(const std::vector<Package> &packages)
{
    std::vector<Program> programs;
    for (const ProgramPackage &wanted : program_packages()) {
        for (const std::string &name : wanted.programs)
            programs.push_back(find_program_in(package_named(packages, wanted.package), name));
    }
    return programs;
}

LibraryClosure libraries_for(const std::vector<Program> &programs,
                             const std::vector<Package> &packages)
{
    std::vector<fs::path> roots;
    for (const Program &program : programs)
        roots.push_back(program.file);
    std::vector<std::string> sonames;
    for (const LibraryPackage &wanted : library_packages())
        sonames.insert(sonames.end(), wanted.libraries.begin(), wanted.libraries.end());
    return library_closure(roots, sonames, trees_of(packages));
}

// libcom_err.so.2 is in libcom-err2: a package is mostly named after its library, up to the
// version.
bool is_named_after(const std::string &package, const std::string &soname)
{
    std::string stem = soname.substr(0, soname.find(".so"));
    for (char &c : stem)
        c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return package.starts_with(stem);
}

// Library packages that have not been tried yet, out of what the packages with a missing library
// depend on: those named after it, or else all.
std::set<std::string> next_to_fetch(const std::vector<Package> &packages,
                                    const LibraryClosure &closure,
                                    const std::set<std::string> &tried)
{
    std::set<std::string> likely;
    std::set<std::string> all;
    for (const auto &[soname, needed_by] : closure.missing) {
        for (const Package &package : packages) {
            if (!needed_by.string().starts_with(package.tree.string() + "/"))
                continue;
            for (const std::string &name : package.depends) {
                if (!name.starts_with("lib") || tried.contains(name))
                    continue;
                all.insert(name);
                if (is_named_after(name, soname))
                    likely.insert(name);
            }
        }
    }
    return likely.empty() ? all : likely;
}

std::vector<Package> resolve(const PackageStore &store)
{
    std::vector<std::string> names;
    for (const ProgramPackage &wanted : program_packages())
        names.push_back(wanted.package);
    for (const LibraryPackage &wanted : library_packages())
        names.push_back(wanted.package);
    std::vector<Package> packages = store.fetch(names, true);
    std::set<std::string> tried(names.begin(), names.end());
    for (;;) {
        const LibraryClosure closure = libraries_for(programs_of(packages), packages);
        if (closure.missing.empty())
            return packages;
        const std::set<std::string> next = next_to_fetch(packages, closure, tried);
        if (next.empty())
            fail(ErrorKind::guest,
                 "no Debian package was found that has the library {}, which {} needs",
                 closure.missing.begin()->first, closure.missing.begin()->second.string());
        tried.insert(next.begin(), next.end());
        for (Package &package : store.fetch({next.begin(), next.end()}, false))
            packages.push_back(std::move(package));
    }
}

void add_applets(GuestTree &tree, const Program &busybox)
{
    const CommandResult list = run_command({busybox.file.string(), "--list"});
    if (!list.success())
        fail(ErrorKind::io, "{} --list does not work: {}", busybox.file.string(),
             list.last_words());
    std::istringstream lines(list.output);
    for (std::string name; std::getline(lines, name);) {
        const bool taken =
            tree.contains(fs::path("usr/bin") / name) || tree.contains(fs::path("usr/sbin") / name);
        if (!taken)
            tree.add(fs::path("usr/bin") / name, TreeSymlink{"/usr/bin/busybox"});
    }
}

} // namespace

std::vector<Package> user_space_packages(const PackageStore &store, bool refresh)
{
    if (!refresh) {
        if (auto selected = store.selection(kSelectionKey))
            return std::move(*selected);
    }
    std::vector<Package> packages = resolve(store);
    store.save_selection(kSelectionKey, packages);
    return packages;
}

void add_user_space(GuestTree &tree, const std::vector<Package> &packages)
{
    const std::vector<Program> programs = programs_of(packages);
    for (const Program &program : programs) {
        if (program.target.empty())
            tree.add(program.guest_path, TreeFile{program.file, true});
        else
            tree.add(program.guest_path, TreeSymlink{program.target});
    }
    const LibraryClosure closure = libraries_for(programs, packages);
    if (!closure.missing.empty())
        fail(ErrorKind::guest, "the library {} is in none of the selected packages; use --refresh",
             closure.missing.begin()->first);
    for (const auto &[place, file] : closure.libraries)
        tree.add(place, TreeFile{file, true});
    for (const ProgramPackage &wanted : program_packages()) {
        for (const std::string &path : wanted.files)
            tree.add(path, TreeFile{package_named(packages, wanted.package).tree / path});
    }
    for (const Program &program : programs) {
        if (program.guest_path.filename() == "busybox")
            add_applets(tree, program);
    }
}

} // namespace fencepost::images
