// SPDX-License-Identifier: GPL-2.0-or-later
// See library_closure.h.
#include "guest-images/image/library_closure.h"

#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "guest-images/image/elf_file.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr const char *kLibraryDirectories[] = {
    "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib64", "lib64", "usr/lib", "lib",
};
constexpr const char *kGuestDirectory = "usr/lib/x86_64-linux-gnu";

class Search {
public:
    explicit Search(const std::vector<fs::path> &trees) : trees_(trees) {}

    void add_file(const fs::path &file)
    {
        const std::string bytes = read_file(file);
        const auto elf = ElfFile::parse(bytes);
        if (!elf)
            return;
        // The loader is where the program says, and libraries that need it find it in memory.
        if (const auto loader = elf->interpreter())
            add_soname(fs::path(*loader).filename().string(), fs::path(*loader).relative_path(),
                       file);
        for (const std::string &soname : elf->needed())
            add_soname(soname, fs::path(kGuestDirectory) / soname, file);
    }

    void add_soname(const std::string &soname, const fs::path &place, const fs::path &needed_by)
    {
        if (!seen_.insert(soname).second)
            return;
        if (const auto file = find(soname)) {
            closure_.libraries[place.string()] = *file;
            add_file(*file);
        } else {
            closure_.missing.emplace(soname, needed_by);
        }
    }

    LibraryClosure take() { return std::move(closure_); }

private:
    std::optional<fs::path> find(const std::string &soname) const
    {
        // A soname is a file name; anything else does not come from a sound library.
        if (soname.empty() || soname.find('/') != std::string::npos || soname == "..")
            return std::nullopt;
        for (const fs::path &tree : trees_) {
            for (const char *directory : kLibraryDirectories) {
                const fs::path file = resolve_in_tree(tree, fs::path(directory) / soname);
                if (!file.empty())
                    return file;
            }
        }
        return std::nullopt;
    }

    const std::vector<fs::path> &trees_;
    std::set<std::string> seen_;
    LibraryClosure closure_;
};

} // namespace

fs::path resolve_in_tree(const fs::path &tree, const fs::path &path)
{
    constexpr int kMostLinks = 16;
    fs::path inner = path.relative_path();
    for (int links = 0; links < kMostLinks; ++links) {
        std::error_code error;
        const fs::file_status status = fs::symlink_status(tree / inner, error);
        if (status.type() == fs::file_type::regular)
            return tree / inner;
        if (status.type() != fs::file_type::symlink)
            return {};
        const fs::path target = fs::read_symlink(tree / inner, error);
        inner = target.is_absolute() ? target.relative_path()
                                     : (inner.parent_path() / target).lexically_normal();
        if (inner.string().starts_with(".."))
            return {};
    }
    return {};
}

LibraryClosure library_closure(const std::vector<fs::path> &roots,
                               const std::vector<std::string> &sonames,
                               const std::vector<fs::path> &trees)
{
    Search search(trees);
    for (const fs::path &root : roots)
        search.add_file(root);
    for (const std::string &soname : sonames)
        search.add_soname(soname, fs::path(kGuestDirectory) / soname, {});
    return search.take();
}

} // namespace fencepost::images
