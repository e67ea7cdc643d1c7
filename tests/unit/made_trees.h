// SPDX-License-Identifier: GPL-2.0-or-later
// Trees and histories made by hand, for tests of what is legal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "replayer/oracle/tree_verdict.h"

namespace fencepost::oracle {

using agent::Durable;
using agent::FileType;
using agent::TreeEntry;

// A block of one letter; its "hash" is the letter. A space is a block of zeros.
constexpr std::uint64_t hash_of(char letter)
{
    return letter == ' ' ? 0 : static_cast<std::uint64_t>(letter);
}

inline std::string hashes(const std::string &letters)
{
    std::string bytes;
    for (const char letter : letters) {
        const std::uint64_t hash = hash_of(letter);
        bytes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    }
    return bytes;
}

inline TreeEntry directory(const std::string &path, std::uint64_t inode)
{
    TreeEntry entry;
    entry.path = path;
    entry.type = FileType::directory;
    entry.inode = inode;
    entry.mode = 0755;
    entry.link_count = 2;
    return entry;
}

// As many whole blocks as letters.
inline TreeEntry file(const std::string &path, std::uint64_t inode, const std::string &letters)
{
    TreeEntry entry;
    entry.path = path;
    entry.type = FileType::file;
    entry.inode = inode;
    entry.mode = 0644;
    entry.link_count = 1;
    entry.size = letters.size() * agent::kTreeBlock;
    entry.block_hashes = hashes(letters);
    return entry;
}

using Entries = std::vector<TreeEntry>;

inline Entries root(Entries more = {})
{
    more.insert(more.begin(), directory(".", 2));
    return more;
}

inline agent::TreeDump dump(Entries entries)
{
    agent::TreeDump result;
    result.entries = std::move(entries);
    return result;
}

class Past {
public:
    Past()
    {
        for (char letter = 'A'; letter <= 'Z'; ++letter)
            history.blocks[hash_of(letter)] = Block(agent::kTreeBlock, letter);
        then(root());
    }

    Past &then(Entries entries, Durable durable = Durable::nothing, std::uint64_t inode = 0)
    {
        history.trees.emplace_back(std::move(entries));
        TreeState state;
        state.tree = history.trees.size() - 1;
        state.moment = history.states.empty() ? agent::Moment::start : agent::Moment::end;
        state.operation = static_cast<std::uint32_t>(history.states.size());
        state.durable = durable;
        state.inode = inode;
        history.states.push_back(state);
        return *this;
    }
    // The tree stays.
    Past &sync(Durable durable, std::uint64_t inode = 0)
    {
        TreeState state = history.states.back();
        state.operation += 1;
        state.durable = durable;
        state.inode = inode;
        history.states.push_back(state);
        return *this;
    }

    TreeVerdict judge(const Entries &entries, OperationSpan span,
                      const Promise &promise = run::kFsync) const
    {
        return judge_tree(dump(entries), history, span, promise);
    }
    TreeVerdict at_end(const Entries &entries, const Promise &promise = run::kFsync) const
    {
        const std::size_t last = history.states.size() - 1;
        return judge(entries, {last, last}, promise);
    }

    History history;
};

inline std::string kind(const TreeVerdict &verdict)
{
    return verdict.legal ? "legal"
                         : verdict.problems.at(0).kind + " " + verdict.problems.at(0).path;
}

} // namespace fencepost::oracle
