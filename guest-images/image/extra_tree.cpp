// SPDX-License-Identifier: GPL-2.0-or-later
// See extra_tree.h.
#include "guest-images/image/extra_tree.h"

#include <map>

#include "base/digest.h"
#include "base/error.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

TreeEntry entry_for(const fs::path &path, const fs::file_status &status)
{
    switch (status.type()) {
    case fs::file_type::directory:
        return TreeDirectory();
    case fs::file_type::regular:
        return TreeFile{path, (status.permissions() & fs::perms::owner_exec) != fs::perms::none};
    case fs::file_type::symlink:
        return TreeSymlink{fs::read_symlink(path).string()};
    default:
        fail(ErrorKind::usage,
             "{} is neither a file, a directory nor a link, so it cannot go into a guest",
             path.string());
    }
}

// By path relative to the directory, which is what makes the digest the same for a copy elsewhere.
std::map<std::string, TreeEntry> read_extra(const fs::path &directory)
{
    if (!fs::is_directory(directory))
        fail(ErrorKind::usage, "{} is not a directory, so it cannot be merged into the guest",
             directory.string());
    std::map<std::string, TreeEntry> entries;
    std::error_code error;
    for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error))
        entries[at->path().lexically_relative(directory).string()] =
            entry_for(at->path(), at->symlink_status());
    if (error)
        fail_errno(fmt::format("cannot read {}", directory.string()), error.value());
    return entries;
}

void check_not_ours(const std::string &name, const fs::path &directory, bool is_directory)
{
    const std::string path = guest_path(name);
    const bool ours = path == "init" || path.starts_with("init/") || path == "etc/fencepost" ||
                      path.starts_with("etc/fencepost/");
    if (ours && !(is_directory && path == "etc/fencepost"))
        fail(ErrorKind::usage, "{} would replace /{}, which belongs to fencepost",
             (directory / name).string(), path);
}

} // namespace

void add_extra(GuestTree &tree, const fs::path &directory)
{
    for (const auto &[name, entry] : read_extra(directory)) {
        const bool is_directory = std::holds_alternative<TreeDirectory>(entry);
        check_not_ours(name, directory, is_directory);
        // A tree with a merged /usr has the same links at its top as every guest.
        if (const auto *link = std::get_if<TreeSymlink>(&entry)) {
            const auto place = tree.entries().find(name);
            const auto *same =
                place == tree.entries().end() ? nullptr : std::get_if<TreeSymlink>(&place->second);
            if (same && fs::path("/") / same->target == (fs::path("/") / link->target))
                continue;
        }
        tree.add(name, entry);
    }
}

std::string extra_digest(const fs::path &directory)
{
    Digest digest;
    for (const auto &[name, entry] : read_extra(directory)) {
        digest.add(name);
        if (const auto *link = std::get_if<TreeSymlink>(&entry)) {
            digest.add("link").add(link->target);
        } else if (const auto *file = std::get_if<TreeFile>(&entry)) {
            digest.add(file->executable ? "program" : "file");
            digest.add_file(std::get<fs::path>(file->content));
        } else {
            digest.add("directory");
        }
    }
    return digest.hex();
}

} // namespace fencepost::images
