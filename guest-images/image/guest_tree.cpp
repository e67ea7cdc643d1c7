// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_tree.h.
#include "guest-images/image/guest_tree.h"

#include <array>

#include "base/error.h"

namespace fencepost::images {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char *, 4> kMerged = {"bin", "sbin", "lib", "lib64"};

bool is_merged(const std::string &name)
{
    for (const char *merged : kMerged) {
        if (name == merged)
            return true;
    }
    return false;
}

} // namespace

std::string guest_path(const fs::path &path)
{
    std::string result;
    for (const fs::path &part : path) {
        const std::string name = part.string();
        if (name == "." || name.empty())
            continue;
        if (name == ".." || name == "/")
            fail(ErrorKind::usage, "{} would leave the guest's root directory", path.string());
        if (result.empty() && is_merged(name))
            result = "usr";
        if (!result.empty())
            result += '/';
        result += name;
    }
    if (result.empty())
        fail(ErrorKind::usage, "an empty path cannot be in the guest");
    return result;
}

GuestTree::GuestTree()
{
    for (const char *name : kMerged) {
        const std::string merged = std::string("usr/") + name;
        add(merged, TreeDirectory());
        entries_[name] = TreeSymlink{merged};
    }
}

void GuestTree::add(const fs::path &path, TreeEntry entry)
{
    const std::string name = guest_path(path);
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        const auto [parent, made] = entries_.try_emplace(name.substr(0, slash), TreeDirectory());
        if (!made && !std::holds_alternative<TreeDirectory>(parent->second))
            fail(ErrorKind::usage, "/{} cannot be in the guest: /{} is not a directory there", name,
                 parent->first);
    }
    const auto [place, made] = entries_.try_emplace(name, entry);
    if (made)
        return;
    if (std::holds_alternative<TreeDirectory>(place->second) !=
        std::holds_alternative<TreeDirectory>(entry))
        fail(ErrorKind::usage, "/{} is a directory in one place and not in another", name);
    place->second = std::move(entry);
}

bool GuestTree::contains(const fs::path &path) const
{
    return entries_.contains(guest_path(path));
}

} // namespace fencepost::images
