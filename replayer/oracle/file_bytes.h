// SPDX-License-Identifier: GPL-2.0-or-later
// The bytes of one recovered file against those that it may have by one state and one promise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/tree_comparison.h"

namespace fencepost::oracle {

class FileBytes {
public:
    FileBytes(const ComparedTree &compared, const agent::TreeEntry &found,
              const agent::TreeEntry &legal)
        : compared_(compared), history_(compared.history), found_(found), inode_(legal.inode)
    {
    }

    // Nothing: all of them are legal, or nobody can say, see undecided().
    std::optional<TreeProblem> compare();
    bool undecided() const { return undecided_; }

    // The states whose bytes a file may have where syncs make them durable: from where they were
    // made so, or it came into being. No block: all of them.
    std::size_t oldest(std::optional<std::size_t> block) const;
    std::size_t newest() const;

private:
    // What a block of the file was, and the last state in which it was that.
    struct Version {
        std::uint64_t hash = 0;
        std::uint64_t size = 0; // of the file
        std::size_t last = 0;
    };
    // Bytes of a block, `from` the first to before the last, that a state made durable for
    // themselves.
    struct SyncedPart {
        std::size_t from = 0;
        std::size_t to = 0;
        std::size_t state = 0;
    };
    struct Ages {
        std::size_t oldest = 0;
        std::size_t newest = 0;
    };
    struct Origin {
        const Block *bytes = nullptr;
        std::uint64_t size = 0; // of the file
        const char *what = "";
    };
    struct Wrong {
        std::uint64_t from = 0;
        std::uint64_t to = 0; // before this one
        const char *what = "";
    };

    bool is_exact() const;
    Ages ages_of(std::size_t block) const;
    std::vector<Version> versions_of(std::size_t block, const Ages &ages) const;
    // It came into being in a state up to `state_`, after `floor`; else `floor`.
    std::size_t since_it_exists(std::size_t floor, bool synced_when_linked) const;
    // Its bytes were made durable before `linked` gave it a name, and not changed in between.
    bool synced_unnamed(std::size_t linked) const;
    // Parts of a block that were made durable after all of it was, in `oldest`.
    std::vector<SyncedPart> synced_parts(std::size_t block, const Ages &ages) const;
    // It was written to after it had lost its last name, where no dump shows it.
    bool written_unseen() const;
    // Where operations are durable on return: stores to a map are no operations of the file system,
    // so they are durable only once somebody made them so.
    std::size_t before_stores(std::size_t block, std::size_t from) const;
    bool makes_durable(const TreeState &state, std::optional<std::size_t> block) const;
    // The version lacks the byte, and a later one has it: a size that covers it promises the
    // latter.
    bool too_short(const Version &version, const std::vector<Version> &versions,
                   std::uint64_t byte) const;
    const Block *bytes_of(std::uint64_t hash) const;
    void compare_block(std::size_t block);
    void compare_single_bytes(std::size_t block, const Block &bytes,
                              const std::vector<Version> &versions,
                              const std::vector<const Block *> &sources,
                              const std::vector<SyncedPart> &synced);
    std::vector<Origin> origins_of(std::size_t block) const;
    void add(const std::string &kind, std::uint64_t byte, std::uint64_t length, const char *what);
    std::size_t changed_since() const;
    std::string words() const;

    ComparedTree compared_;
    const History &history_;
    const agent::TreeEntry &found_;
    std::uint64_t inode_;
    std::string kind_;
    std::vector<Wrong> wrong_;
    bool undecided_ = false;
};

} // namespace fencepost::oracle
