// SPDX-License-Identifier: GPL-2.0-or-later
// A file system's tree as the agent sees it: what a crash image holds after recovery, and what a
// workload left after each of its operations. Times are left out: no two runs agree on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fencepost::agent {

inline constexpr std::uint32_t kTreeBlock = 4096;

enum class FileType : std::uint8_t {
    file,
    directory,
    symlink,
    fifo,
    socket,
    character,
    block,
    unknown
};

struct TreeAttribute {
    std::string name;
    std::string value;

    bool operator==(const TreeAttribute &) const = default;
};

struct TreeRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    bool operator==(const TreeRange &) const = default;
};

struct TreeEntry {
    std::string path; // below the root, which is "."
    FileType type = FileType::unknown;
    // A name that cannot be looked at: which step failed ("stat", "list", "open", "read",
    // "readlink", "xattr"), and its errno.
    std::string failed_step;
    std::int32_t error_number = 0;
    std::uint64_t inode =
        0; // tells links of one file from files that are alike; no two runs agree on it
    std::uint32_t mode = 0; // permission bits, 07777
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint32_t link_count = 0;
    std::uint64_t size =
        0; // of files only: what a directory's size means is the file system's business
    std::uint64_t device = 0;
    std::string target;                    // of a symbolic link
    std::vector<TreeAttribute> attributes; // sorted by name
    std::vector<TreeRange> holes;          // as lseek(2) tells them
    // A file's bytes: one little-endian XXH64 a block of kTreeBlock bytes, the last one filled up
    // with zeros. A block of zeros has 0.
    std::string block_hashes;
    bool contents_left_out = false; // beyond the dump's limit

    bool operator==(const TreeEntry &) const = default;
};

// The bytes behind a hash.
struct TreeBlock {
    std::uint64_t hash = 0;
    std::string bytes; // kTreeBlock of them

    bool operator==(const TreeBlock &) const = default;
};

struct TreeDump {
    std::vector<TreeEntry> entries; // the root first, then by path
    std::vector<TreeBlock> blocks;  // whose hashes the asker did not know, each once
    bool truncated = false;         // entries or contents or blocks are missing
    std::uint64_t elapsed_usec = 0;

    bool operator==(const TreeDump &) const = default;
};

struct TreeLimits {
    std::uint32_t entries = 16384;
    std::uint32_t blocks = 256;                // sent with their bytes; 0: none are asked for
    std::uint64_t content_bytes = 64ull << 20; // hashed; 0: names alone are asked for

    bool operator==(const TreeLimits &) const = default;
};

} // namespace fencepost::agent
