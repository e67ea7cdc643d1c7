// SPDX-License-Identifier: GPL-2.0-or-later
// File operations in the form that the agent executes: names are resolved to slots, numbers to
// system call arguments. docs/reference/ops.md describes the language this is compiled from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fencepost::agent {

enum class OpKind : std::uint8_t {
    open,        // slot, path, number[0] flags, number[1] mode
    close,       // slot
    mkdir,       // path, number[0] mode
    rmdir,       // path
    unlink,      // path
    remove,      // path: a file or an empty directory
    rename,      // path, path2, number[0] flags of renameat2
    link,        // path, path2
    symlink,     // path (what it points to), path2
    truncate,    // path, number[0] length
    ftruncate,   // slot, number[0] length
    write,       // slot, data
    pwrite,      // slot, number[0] offset, data
    read,        // slot, number[0] length
    pread,       // slot, number[0] offset, number[1] length
    fallocate,   // slot, number[0] mode, number[1] offset, number[2] length
    fsync,       // slot
    fdatasync,   // slot
    syncfs,      // slot
    sync,        //
    chmod,       // path, number[0] mode
    setxattr,    // path, path2 (its name), data
    removexattr, // path, path2 (its name)
    map,         // slot, slot2 (the file), number[0] offset, number[1] length
    store,       // slot, number[0] offset in the map, data
    flush,       // slot, number[0] offset in the map, number[1] length: clwb or clflush each line
    fence,       // sfence
    msync,       // slot, number[0] offset in the map, number[1] length
    unmap,       // slot
    checkpoint,  // number[0]; a marker, not an operation
    mark,        // the workload under test begins here: see OpsProgram
    last = mark,
};

// What an operation's failure means.
enum class OpFailure : std::uint8_t {
    ends,         // the workload has failed
    by_arguments, // an error that the operation's arguments explain is its result; others end
    is_result,    // whatever it is
    last = is_result,
};

// The system call was asked for what cannot be, in the state that the tree has: no trouble of the
// file system or the machine.
bool is_explained_by_arguments(int error_number);

// Bytes to write: a text, or a pattern of some length.
struct OpData {
    bool literal = false;
    std::string text;         // literal
    std::uint64_t length = 0; // of the pattern
    std::uint64_t seed = 0;

    bool operator==(const OpData &) const = default;
};

// The pattern's byte at an offset of its file or map: printable, another in most units of 8 bytes.
// Two seeds that differ by less than 94 have no byte in common at any offset, so that writes which
// follow each other can always be told apart.
constexpr char pattern_byte(std::uint64_t seed, std::uint64_t offset)
{
    const std::uint64_t mixed =
        (offset / 8 + 1) * 0x9e3779b97f4a7c15u + seed / 94 * 0xd6e8feb86659fd93u;
    return static_cast<char>('!' + ((mixed >> 40) + seed % 94 * 37 + offset % 8) % 94);
}

struct Op {
    OpKind kind = OpKind::sync;
    OpFailure failure = OpFailure::ends;
    bool marked = true;       // with operation markers around it
    std::uint32_t line = 0;   // in the source
    std::uint32_t number = 0; // of the operation, from 1
    std::uint16_t slot = 0;
    std::uint16_t slot2 = 0;
    std::string path;
    std::string path2;
    std::uint64_t numbers[3] = {};
    OpData data;
    std::string text; // as a person wrote it

    bool operator==(const Op &) const = default;
};

struct OpsThread {
    std::vector<Op> ops;

    bool operator==(const OpsThread &) const = default;
};

// Threads of a phase run at the same time; a phase begins when the one before has ended.
struct OpsPhase {
    std::vector<OpsThread> threads;

    bool operator==(const OpsPhase &) const = default;
};

// What comes before a `mark` is preparation: it has no markers, is not observed, and is made
// durable (sync, and a fence of this CPU) before the mark. Power does not fail in it.
struct OpsProgram {
    std::uint16_t file_slots = 0;
    std::uint16_t map_slots = 0;
    std::vector<OpsPhase> phases;

    bool operator==(const OpsProgram &) const = default;
};

inline constexpr std::uint16_t kOpsSlotLimit = 256;
inline constexpr std::size_t kOpsThreadLimit = 16;
inline constexpr std::uint64_t kOpsDataLimit = 64ull << 20; // bytes of one write

// Every slot, length and count is within its limits.
bool is_sound(const OpsProgram &program);

} // namespace fencepost::agent
