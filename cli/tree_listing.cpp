// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_listing.h.
#include "cli/tree_listing.h"

#include <string>

#include <fmt/core.h>

#include "base/terminal_text.h"

namespace fencepost::cli {

namespace {

std::string mode_of(const agent::TreeEntry &entry)
{
    static constexpr const char *kTypes = "-dlpscb?"; // as agent::FileType has them
    static constexpr const char *kBits = "rwxrwxrwx";
    std::string text(1, kTypes[static_cast<unsigned>(entry.type)]);
    for (unsigned bit = 0; bit < 9; ++bit)
        text += entry.mode >> (8 - bit) & 1 ? kBits[bit] : '-';
    return text;
}

void print_entry(const agent::TreeEntry &entry)
{
    const std::string path = terminal_text(entry.path);
    if (!entry.failed_step.empty()) {
        fmt::print("{}: {} failed with error {}\n", path, entry.failed_step, entry.error_number);
        return;
    }
    fmt::print("{} {:>2} {}:{} {:>9} {}{}{}\n", mode_of(entry), entry.link_count, entry.user,
               entry.group, entry.size, path, entry.target.empty() ? "" : " -> ",
               terminal_text(entry.target));
    for (const agent::TreeAttribute &attribute : entry.attributes)
        fmt::print("    {} = {}\n", terminal_text(attribute.name), terminal_text(attribute.value));
}

} // namespace

void print_tree(const agent::TreeDump &tree)
{
    for (const agent::TreeEntry &entry : tree.entries)
        print_entry(entry);
    if (tree.truncated)
        fmt::print("the rest was left out: the tree is too large\n");
}

} // namespace fencepost::cli
