// SPDX-License-Identifier: GPL-2.0-or-later
// See file_bytes.h.
#include "replayer/oracle/file_bytes.h"

#include <algorithm>

#include <fmt/core.h>

namespace fencepost::oracle {

using agent::Durable;
using agent::kTreeBlock;
using agent::TreeEntry;
using run::BytePromise;
using run::Durability;

namespace {

constexpr std::size_t kRangesLimit = 4;  // that are told
constexpr std::size_t kWrongLimit = 256; // that are looked for

} // namespace

// One state's bytes and no others.
bool FileBytes::is_exact() const
{
    return compared_.promise.durable == Durability::on_return &&
           compared_.promise.bytes == BytePromise::atomic;
}

bool FileBytes::makes_durable(const TreeState &state, std::optional<std::size_t> block) const
{
    if (state.durable == Durable::all)
        return true;
    if (state.durable == Durable::nothing || state.inode != inode_)
        return false;
    const std::uint64_t first = std::uint64_t(block.value_or(0)) * kTreeBlock;
    return state.range.length == 0 ||
           (block && state.range.offset <= first &&
            first + kTreeBlock <= state.range.offset + state.range.length);
}

std::size_t FileBytes::before_stores(std::size_t block, std::size_t from) const
{
    std::size_t oldest = from;
    for (std::size_t i = from; i > 0; --i) {
        const TreeState &state = history_.states[i];
        if (i <= compared_.span.returned && makes_durable(state, block))
            break;
        if (state.store && state.inode == inode_)
            oldest = i - 1;
    }
    return oldest;
}

std::size_t FileBytes::since_it_exists(std::size_t floor, bool synced_when_linked) const
{
    // Before it came into being, its number may have been another file's; then it had no bytes.
    for (std::size_t i = compared_.state; i > floor; --i)
        if (!history_.tree_at(i - 1).by_inode(inode_))
            return (synced_when_linked && is_link(history_.states[i])) || synced_unnamed(i) ? i
                                                                                            : i - 1;
    return floor;
}

std::size_t FileBytes::oldest(std::optional<std::size_t> block) const
{
    if (compared_.promise.durable == Durability::on_return)
        return since_it_exists(compared_.first, true);
    std::size_t oldest = 0;
    // Which bytes were synced after the file had lost its last name is not known.
    for (std::size_t i = std::min(compared_.span.returned, newest()) + 1; i-- > 0 && oldest == 0;)
        if (makes_durable(history_.states[i], block))
            oldest = i;
    return since_it_exists(oldest, false);
}

bool FileBytes::synced_unnamed(std::size_t linked) const
{
    if (!is_link(history_.states[linked]))
        return false;
    for (std::size_t i = linked; i-- > 0 && !history_.tree_at(i).by_inode(inode_);) {
        const TreeState &state = history_.states[i];
        if (state.durable == Durable::all || state.inode == inode_)
            return state.durable != Durable::nothing && state.range.length == 0 &&
                   i <= compared_.span.returned;
    }
    return false;
}

std::size_t FileBytes::newest() const
{
    for (std::size_t i = compared_.state; i < compared_.span.begun; ++i)
        if (!history_.tree_at(i + 1).by_inode(inode_))
            return i;
    return compared_.span.begun;
}

bool FileBytes::written_unseen() const
{
    for (std::size_t i = newest() + 1; i <= compared_.span.begun; ++i) {
        if (history_.tree_at(i).by_inode(inode_))
            return false; // its number is another file's
        const TreeState &state = history_.states[i];
        if (state.inode == inode_ && (state.durable == Durable::nothing || state.range.length != 0))
            return true;
    }
    return false;
}

FileBytes::Ages FileBytes::ages_of(std::size_t block) const
{
    const bool atomic = compared_.promise.bytes == BytePromise::atomic;
    if (compared_.promise.durable == Durability::on_return) {
        const std::size_t from = atomic ? compared_.state : oldest(block);
        return {before_stores(block, from), atomic ? compared_.state : newest()};
    }
    const std::size_t from = oldest(block);
    if (!atomic)
        return {from, newest()};
    // Those of the tree's state, or of a later one that synced them.
    const std::size_t state = std::max(compared_.state, from);
    return {state, state};
}

std::vector<FileBytes::Version> FileBytes::versions_of(std::size_t block, const Ages &ages) const
{
    std::vector<Version> versions;
    for (std::size_t i = ages.oldest; i <= ages.newest; ++i) {
        const TreeEntry *version = history_.tree_at(i).by_inode(inode_);
        const std::uint64_t hash = version ? hash_at(*version, block) : 0;
        const std::uint64_t size = version ? version->size : 0;
        const auto known = std::find_if(versions.begin(), versions.end(), [&](const Version &each) {
            return each.hash == hash && each.size == size;
        });
        if (known == versions.end())
            versions.push_back({hash, size, i});
        else
            known->last = i;
    }
    return versions;
}

std::vector<FileBytes::SyncedPart> FileBytes::synced_parts(std::size_t block,
                                                           const Ages &ages) const
{
    std::vector<SyncedPart> parts;
    const std::uint64_t first = std::uint64_t(block) * kTreeBlock;
    for (std::size_t i = ages.oldest + 1; i <= std::min(compared_.span.returned, ages.newest);
         ++i) {
        const TreeState &state = history_.states[i];
        const std::uint64_t from = std::max(first, state.range.offset);
        const std::uint64_t to =
            std::min(first + kTreeBlock, state.range.offset + state.range.length);
        if (state.durable != Durable::nothing && state.inode == inode_ && from < to)
            parts.push_back({from - first, to - first, i});
    }
    return parts;
}

const Block *FileBytes::bytes_of(std::uint64_t hash) const
{
    for (const agent::TreeBlock &block : compared_.dump.blocks)
        if (block.hash == hash && block.bytes.size() == kTreeBlock)
            return &block.bytes;
    return history_.block(hash);
}

bool FileBytes::too_short(const Version &version, const std::vector<Version> &versions,
                          std::uint64_t byte) const
{
    return compared_.promise.size_covers_appends && version.size <= byte &&
           std::any_of(versions.begin(), versions.end(), [&](const Version &later) {
               return later.last > version.last && later.size > byte;
           });
}

void FileBytes::add(const std::string &kind, std::uint64_t byte, std::uint64_t length,
                    const char *what)
{
    if (kind_.empty())
        kind_ = kind;
    if (!wrong_.empty() && wrong_.back().to == byte && std::string_view(wrong_.back().what) == what)
        wrong_.back().to = byte + length;
    else
        wrong_.push_back({byte, byte + length, what});
}

// What the block was in states before and after the one that is compared with, nearest first.
std::vector<FileBytes::Origin> FileBytes::origins_of(std::size_t block) const
{
    std::vector<Origin> origins;
    const auto add = [&](std::size_t state, const char *what) {
        const TreeEntry *version = history_.tree_at(state).by_inode(inode_);
        const Block *bytes = version ? history_.block(hash_at(*version, block)) : nullptr;
        const bool known = std::any_of(origins.begin(), origins.end(), [&](const Origin &each) {
            return each.bytes == bytes && each.size >= version->size;
        });
        if (bytes && !known)
            origins.push_back({bytes, version->size, what});
    };
    for (std::size_t i = compared_.state; i-- > 0;)
        add(i, "old");
    for (std::size_t i = compared_.state + 1; i < history_.states.size(); ++i)
        add(i, i <= compared_.span.begun ? "new" : "of a later write");
    return origins;
}

void FileBytes::compare_single_bytes(std::size_t block, const Block &bytes,
                                     const std::vector<Version> &versions,
                                     const std::vector<const Block *> &sources,
                                     const std::vector<SyncedPart> &synced)
{
    const std::uint64_t first = std::uint64_t(block) * kTreeBlock;
    const std::uint64_t end = std::min<std::uint64_t>(kTreeBlock, found_.size - first);
    std::optional<std::vector<Origin>> origins; // where bytes that are wrong come from
    const auto origin_of = [&](std::size_t byte) {
        if (!origins)
            origins = origins_of(block);
        for (const Origin &each : *origins)
            if (first + byte < each.size && (*each.bytes)[byte] == bytes[byte])
                return each.what;
        return bytes[byte] == 0 ? "zero" : "neither old nor new";
    };
    for (std::size_t i = 0; i < end && wrong_.size() < kWrongLimit; ++i) {
        const char byte = bytes[i];
        std::size_t durable = 0;
        for (const SyncedPart &part : synced)
            if (part.from <= i && i < part.to)
                durable = part.state;
        bool was_there = false;
        bool legal = false;
        for (std::size_t version = 0; version < versions.size() && !legal; ++version) {
            const bool same = (*sources[version])[i] == byte;
            was_there = was_there || same;
            legal = same && versions[version].last >= durable &&
                    !too_short(versions[version], versions, first + i);
        }
        if (!legal)
            add(byte == 0 ? "zeros" : was_there ? "bytes" : "garbage", first + i, 1, origin_of(i));
    }
}

void FileBytes::compare_block(std::size_t block)
{
    const Ages ages = ages_of(block);
    const std::vector<Version> versions = versions_of(block, ages);
    const bool changes = std::any_of(versions.begin(), versions.end(), [&](const Version &each) {
        return each.hash != versions.front().hash;
    });
    if (compared_.promise.bytes == BytePromise::any && changes)
        return;
    const std::vector<SyncedPart> synced = synced_parts(block, ages);
    const std::uint64_t hash = hash_at(found_, block);
    const std::uint64_t first = std::uint64_t(block) * kTreeBlock;
    const std::uint64_t end = std::min(first + kTreeBlock, found_.size);
    const std::size_t last_synced = synced.empty() ? 0 : synced.back().state;
    if (std::any_of(versions.begin(), versions.end(), [&](const Version &version) {
            return version.hash == hash && version.last >= last_synced &&
                   (end == first || !too_short(version, versions, end - 1));
        }))
        return;
    const Block *bytes = bytes_of(hash);
    std::vector<const Block *> sources;
    for (const Version &version : versions)
        sources.push_back(history_.block(version.hash));
    if (!bytes || std::find(sources.begin(), sources.end(), nullptr) != sources.end()) {
        // That they differ is known all the same if there is one thing that they may be.
        const bool same_size = !changes && versions.front().size == found_.size;
        if (same_size)
            add(hash == 0 ? "zeros" : "bytes", first, end - first, "not what they must be");
        else
            undecided_ = true;
        return;
    }
    const bool first_problem = kind_.empty();
    compare_single_bytes(block, *bytes, versions, sources, synced);
    if (first_problem && !kind_.empty() && !changes)
        kind_ = hash == 0 ? "zeros" : "bytes";
}

// The state that made the first byte that is wrong what it must be.
std::size_t FileBytes::changed_since() const
{
    const std::size_t block = wrong_.front().from / kTreeBlock;
    const std::size_t byte = wrong_.front().from % kTreeBlock;
    const auto value_at = [&](std::size_t state) -> std::optional<char> {
        const TreeEntry *version = history_.tree_at(state).by_inode(inode_);
        const Block *bytes = version && wrong_.front().from < version->size
                                 ? history_.block(hash_at(*version, block))
                                 : nullptr;
        return bytes ? std::optional((*bytes)[byte]) : std::nullopt;
    };
    const std::optional<char> now = value_at(compared_.state);
    for (std::size_t i = compared_.state; i > 0; --i)
        if (value_at(i - 1) != now)
            return i;
    return 0;
}

std::string FileBytes::words() const
{
    std::string text;
    const std::size_t told = std::min(wrong_.size(), kRangesLimit);
    for (std::size_t i = 0; i < told; ++i) {
        const Wrong &range = wrong_[i];
        text += text.empty() ? "" : ", ";
        text += range.to - range.from == 1
                    ? fmt::format("byte {} is {}", range.from, range.what)
                    : fmt::format("bytes {}-{} are {}", range.from, range.to - 1, range.what);
    }
    if (wrong_.size() > told)
        text += ", and others";
    return text;
}

std::optional<TreeProblem> FileBytes::compare()
{
    if (history_.mapped.contains(inode_))
        return std::nullopt;
    if (found_.contents_left_out) {
        undecided_ = true;
        return std::nullopt;
    }
    if (!is_exact() && written_unseen())
        return std::nullopt;
    for (std::size_t block = 0; block < block_count(found_) && wrong_.size() < kWrongLimit; ++block)
        compare_block(block);
    if (wrong_.empty())
        return std::nullopt;
    return TreeProblem{kind_, found_.path, words(), changed_since()};
}

} // namespace fencepost::oracle
