// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_comparison.h.
#include "replayer/oracle/tree_comparison.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/core.h>
#include <sys/syscall.h>

#include "replayer/oracle/file_bytes.h"

namespace fencepost::oracle {

using agent::TreeEntry;

namespace {

int weight(const std::string &kind)
{
    return kind.starts_with("cannot ") || kind == "twice" ? 3
           : kind == "missing"                            ? 2
           : kind == "unexpected"                         ? 1
                                                          : 0;
}

const char *type_name(agent::FileType type)
{
    switch (type) {
    case agent::FileType::file:
        return "file";
    case agent::FileType::directory:
        return "directory";
    case agent::FileType::symlink:
        return "symbolic link";
    case agent::FileType::fifo:
        return "fifo";
    case agent::FileType::socket:
        return "socket";
    case agent::FileType::character:
        return "character device";
    case agent::FileType::block:
        return "block device";
    case agent::FileType::unknown:
        break;
    }
    return "thing of unknown type";
}

std::string attributes_text(const TreeEntry &entry)
{
    std::string text;
    for (const agent::TreeAttribute &attribute : entry.attributes)
        text += fmt::format("{}{} ({} bytes)", text.empty() ? "" : ", ", attribute.name,
                            attribute.value.size());
    return text.empty() ? "none" : text;
}

std::string value_of(const TreeEntry &entry, const std::string &field)
{
    if (field == "type")
        return std::string("a ") + type_name(entry.type);
    if (field == "mode")
        return fmt::format("{:o}", entry.mode);
    if (field == "user")
        return std::to_string(entry.user);
    if (field == "group")
        return std::to_string(entry.group);
    if (field == "link_count")
        return std::to_string(entry.link_count);
    if (field == "size")
        return std::to_string(entry.size);
    if (field == "device")
        return std::to_string(entry.device);
    if (field == "target")
        return "'" + entry.target + "'";
    return attributes_text(entry);
}

std::string field_words(const std::string &field, const TreeEntry &found, const TreeEntry &legal)
{
    if (field == "attributes" && attributes_text(found) == attributes_text(legal))
        return fmt::format("values of its attributes differ ({})", attributes_text(legal));
    const std::string name = field == "link_count" ? "link count" : field;
    return fmt::format("{} is {}, not {}", name, value_of(found, field), value_of(legal, field));
}

std::string error_words(const TreeEntry &entry)
{
    return fmt::format("cannot {}: {}", entry.failed_step, std::strerror(entry.error_number));
}

} // namespace

bool is_link(const TreeState &state)
{
    return state.call == SYS_link || state.call == SYS_linkat;
}

std::size_t TreeComparison::name_since(const std::string &path) const
{
    const bool there = legal_.find(path);
    for (std::size_t i = compared_.state; i > 0; --i)
        if (static_cast<bool>(history_.tree_at(i - 1).find(path)) != there)
            return i;
    return 0;
}

std::size_t TreeComparison::field_since(const std::string &path, const std::string &field) const
{
    const TreeEntry *legal = legal_.find(path);
    for (std::size_t i = compared_.state; legal && i > 0; --i) {
        const TreeEntry *before = history_.tree_at(i - 1).by_inode(legal->inode);
        if (!before)
            return i;
        const std::vector<std::string> fields = differing_fields(*before, *legal);
        if (std::find(fields.begin(), fields.end(), field) != fields.end())
            return i;
    }
    return 0;
}

bool TreeComparison::size_is_legal(const TreeEntry &found, const TreeEntry &legal) const
{
    const auto size_at = [&](std::size_t state) -> std::uint64_t {
        const TreeEntry *version = history_.tree_at(state).by_inode(legal.inode);
        return version ? version->size : 0;
    };
    const std::size_t state = compared_.state;
    if (compared_.promise.tree == run::TreePromise::prefix && state > compared_.first) {
        const auto [least, most] = std::minmax({size_at(state - 1), size_at(state)});
        if (least <= found.size && found.size <= most)
            return true;
    }
    if (!compared_.promise.sizes_lag)
        return false;
    const FileBytes bytes(compared_, found, legal);
    const std::size_t newest = bytes.newest();
    const std::size_t oldest = bytes.oldest(std::nullopt);
    // A sync of a range makes the size durable as far as the range went.
    std::uint64_t synced = 0;
    for (std::size_t i = newest + 1; i-- > oldest;) {
        const std::uint64_t size = size_at(i);
        const TreeState &at = history_.states[i];
        if (at.durable != agent::Durable::nothing && at.inode == legal.inode &&
            i <= compared_.span.returned)
            synced = std::max(synced, std::min(size, at.range.offset + at.range.length));
        if (size == found.size && size >= synced)
            return true;
    }
    return false;
}

void TreeComparison::compare_entry(const TreeEntry &found, const TreeEntry &legal)
{
    // An error that the workload met without a crash is no crash's.
    const bool same_error =
        found.failed_step == legal.failed_step && found.error_number == legal.error_number;
    if (!found.failed_step.empty() && !same_error && !masked(found.path, "error")) {
        add("cannot " + found.failed_step, found.path, error_words(found), name_since(found.path));
        return;
    }
    for (const std::string &field : differing_fields(found, legal)) {
        if (field == "contents" || field == "error" || masked(found.path, field))
            continue;
        if (field == "size" && size_is_legal(found, legal))
            continue;
        // Where the blocks of a file are is told by its bytes; a hole that was filled with zeros,
        // or the other way round, is nobody's loss.
        if (field == "holes")
            continue;
        add(field, found.path, field_words(field, found, legal), field_since(found.path, field));
    }
    if (found.type != agent::FileType::file || legal.type != agent::FileType::file ||
        masked(found.path, "contents"))
        return;
    FileBytes bytes(compared_, found, legal);
    if (const auto problem = bytes.compare())
        problems_.push_back(*problem);
    undecided_ = undecided_ || bytes.undecided();
}

// Names of one file are names of one file, and of no other.
void TreeComparison::compare_links()
{
    std::map<std::uint64_t, std::uint64_t> to_legal;
    std::map<std::uint64_t, std::uint64_t> to_found;
    for (const auto &[path, found] : tree_.entries()) {
        const TreeEntry *legal = legal_.find(path);
        if (!legal || !found.failed_step.empty())
            continue;
        const auto there = to_legal.emplace(found.inode, legal->inode).first;
        const auto here = to_found.emplace(legal->inode, found.inode).first;
        if (there->second != legal->inode || here->second != found.inode)
            add("linked", path, "shares its inode with another name than it should",
                name_since(path));
    }
}

std::vector<TreeProblem> TreeComparison::run()
{
    for (const auto &[path, legal] : legal_.entries())
        if (!tree_.find(path) && !masked(path, "name"))
            add("missing", path, "is missing", name_since(path));
    for (const auto &[path, found] : tree_.entries()) {
        const TreeEntry *legal = legal_.find(path);
        if (legal)
            compare_entry(found, *legal);
        else if (!found.failed_step.empty())
            add("cannot " + found.failed_step, path, error_words(found), name_since(path));
        else if (!masked(path, "name"))
            add("unexpected", path, "should not be there", name_since(path));
    }
    for (const std::string &path : tree_.listed_twice())
        add("twice", path, "is listed more than once by its directory", name_since(path));
    compare_links();
    // What is gone, or should be, explains most of what is odd about the rest.
    std::stable_sort(
        problems_.begin(), problems_.end(),
        [](const TreeProblem &a, const TreeProblem &b) { return weight(a.kind) > weight(b.kind); });
    return problems_;
}

} // namespace fencepost::oracle
