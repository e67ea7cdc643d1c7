// SPDX-License-Identifier: GPL-2.0-or-later
// See history.h.
#include "replayer/oracle/history.h"

#include <algorithm>
#include <cstring>

namespace fencepost::oracle {

using agent::Moment;
using agent::Observation;
using agent::TreeEntry;

namespace {

bool is_child(const std::string &path, const std::string &directory)
{
    const std::string prefix = directory == "." ? "" : directory + "/";
    return path != "." && path.starts_with(prefix) &&
           path.find('/', prefix.size()) == std::string::npos;
}

std::string parent_of(const std::string &path)
{
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string base_name(const std::string &path)
{
    return path.substr(path.rfind('/') + 1); // all of it if there is no slash
}

// Everything but names, inode and bytes.
std::string attributes_of(const TreeEntry &entry)
{
    std::string text = fmt::format("{} {} {} {} {} {} {} {}\n", static_cast<int>(entry.type),
                                   entry.mode, entry.user, entry.group, entry.link_count,
                                   entry.size, entry.device, entry.target);
    for (const agent::TreeAttribute &attribute : entry.attributes)
        text += fmt::format("{}={}\n", attribute.name, attribute.value);
    for (const agent::TreeRange &hole : entry.holes)
        text += fmt::format("hole {} {}\n", hole.offset, hole.length);
    return text;
}

bool same_caller(const TreeState &a, const TreeState &b)
{
    return a.call == b.call && a.signature.process == b.signature.process &&
           a.signature.thread == b.signature.thread;
}

} // namespace

Tree::Tree(std::vector<TreeEntry> entries)
{
    for (TreeEntry &entry : entries) {
        const std::string path = entry.path;
        if (entries_.contains(path)) {
            listed_twice_.insert(path);
            continue;
        }
        if (entry.failed_step != "stat")
            names_.emplace(entry.inode, path);
        entries_[path] = std::move(entry);
    }
}

const TreeEntry *Tree::find(const std::string &path) const
{
    const auto found = entries_.find(path);
    return found == entries_.end() ? nullptr : &found->second;
}

const TreeEntry *Tree::by_inode(std::uint64_t inode) const
{
    const auto found = names_.find(inode);
    return found == names_.end() ? nullptr : find(found->second);
}

std::string Tree::describe_inode(std::uint64_t inode, bool with_names) const
{
    const TreeEntry *entry = by_inode(inode);
    if (!entry)
        return {};
    std::string text = attributes_of(*entry);
    const auto [first, last] = names_.equal_range(inode);
    // Names go by the directory that they are in, not by its path: a rename further up changes
    // nothing here.
    for (auto name = first; with_names && name != last; ++name) {
        const TreeEntry *parent = find(parent_of(name->second));
        text += fmt::format("name {} {}\n", parent ? parent->inode : 0, base_name(name->second));
    }
    if (entry->type == agent::FileType::directory)
        for (const auto &[path, child] : entries_)
            if (is_child(path, entry->path))
                text += fmt::format("child {} {}\n", base_name(path), child.inode);
    return text;
}

const Block *History::block(std::uint64_t hash) const
{
    static const Block kZeros(agent::kTreeBlock, '\0');
    if (hash == 0)
        return &kZeros;
    const auto found = blocks.find(hash);
    return found == blocks.end() ? nullptr : &found->second;
}

std::string History::known_blocks() const
{
    std::string hashes;
    for (const auto &[hash, bytes] : blocks)
        hashes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    return hashes;
}

History make_history(const std::vector<Observation> &observations)
{
    History history;
    for (const Observation &seen : observations) {
        if (seen.tree.truncated)
            throw NoLegalTrees("the workload's tree is too large to be compared");
        if (seen.moment == Moment::overflow)
            throw NoLegalTrees(
                fmt::format("the workload changes too much to be observed: its trees and their "
                            "bytes take more than {} MiB",
                            agent::kObservationsLimit >> 20));
        if (!seen.same_tree)
            history.trees.emplace_back(seen.tree.entries);
        if (history.trees.empty())
            fail(ErrorKind::trace, "the first observation of the workload has no tree");
        for (const agent::TreeBlock &block : seen.tree.blocks) {
            if (block.bytes.size() != agent::kTreeBlock)
                fail(ErrorKind::trace, "an observation of the workload has a block of {} bytes",
                     block.bytes.size());
            history.blocks[block.hash] = block.bytes;
        }
        if (seen.mapped && seen.call >= 0)
            history.mapped.insert(seen.inode);
        history.states.push_back({history.trees.size() - 1, seen.moment, seen.operation,
                                  seen.call_ordinal, seen.calls_meanwhile, seen.call, seen.result,
                                  seen.durable, seen.inode, seen.range,
                                  seen.mapped && seen.call < 0, seen.exchanged, seen.signature});
    }
    if (history.states.empty())
        fail(ErrorKind::trace, "the workload was not observed");
    if (history.states.back().moment != Moment::end || history.states.back().operation != 0)
        throw NoLegalTrees("the workload was not observed up to its end");
    return history;
}

std::vector<std::string> differing_fields(const TreeEntry &a, const TreeEntry &b)
{
    std::vector<std::string> fields;
    const auto compare = [&](const char *name, bool same) {
        if (!same)
            fields.push_back(name);
    };
    compare("type", a.type == b.type);
    compare("error", a.failed_step == b.failed_step && a.error_number == b.error_number);
    compare("mode", a.mode == b.mode);
    compare("user", a.user == b.user);
    compare("group", a.group == b.group);
    compare("link_count", a.link_count == b.link_count);
    compare("size", a.size == b.size);
    compare("device", a.device == b.device);
    compare("target", a.target == b.target);
    compare("attributes", a.attributes == b.attributes);
    compare("holes", a.holes == b.holes);
    compare("contents",
            a.block_hashes == b.block_hashes && a.contents_left_out == b.contents_left_out);
    return fields;
}

std::string mask_differences(History &history, const History &other)
{
    if (history.states.size() != other.states.size())
        return fmt::format("the workload takes {} steps in one run and {} in another",
                           history.states.size(), other.states.size());
    for (std::size_t i = 0; i < history.states.size(); ++i) {
        if (!same_caller(history.states[i], other.states[i]))
            return "threads or processes of the workload make their system calls in another order "
                   "each time";
        const auto &here = history.tree_at(i).entries();
        const auto &there = other.tree_at(i).entries();
        for (const auto &[path, entry] : there)
            if (!here.contains(path))
                return fmt::format("the workload makes '{}' in one run and not in another", path);
        for (const auto &[path, entry] : here) {
            const auto found = there.find(path);
            if (found == there.end())
                return fmt::format("the workload makes '{}' in one run and not in another", path);
            for (const std::string &field : differing_fields(entry, found->second))
                history.masks.insert({path, field});
        }
    }
    return {};
}

std::uint64_t hash_at(const TreeEntry &entry, std::size_t block)
{
    std::uint64_t hash = 0;
    if ((block + 1) * sizeof hash <= entry.block_hashes.size())
        std::memcpy(&hash, entry.block_hashes.data() + block * sizeof hash, sizeof hash);
    return hash;
}

std::size_t block_count(const TreeEntry &entry)
{
    return entry.block_hashes.size() / sizeof(std::uint64_t);
}

} // namespace fencepost::oracle
