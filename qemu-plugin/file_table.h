// SPDX-License-Identifier: GPL-2.0-or-later
// Open files of a process and what it has mapped of them, from its system calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "qemu-plugin/shared_mappings.h"

namespace fencepost::tracer {

// What the calls that are not seen, or not understood, have changed is missing here, never wrong:
// a mapping counts only if it is known which open() it goes back to.
class FileTable {
public:
    struct Call {
        std::uint64_t number = 0;
        std::array<std::uint64_t, 6> arguments = {};
    };
    // What the return of a call needs to know of its entry.
    struct Entered {
        std::uint64_t file = 0;             // that mmap is given; 0 = not known
        std::optional<FilePage> moved = {}; // by mremap
    };

    // Drops what the call may close or unmap.
    Entered enter(const Call &call);
    // It has succeeded. `path`: of an open(); `id`: for what it opened, 0 = whose descriptor it is
    // cannot be told.
    void leave(const Call &call, const Entered &entered, std::uint64_t result,
               const std::string &path, std::uint64_t id);
    // Descriptors change in ways that are not seen from here on.
    void lose_descriptors();
    // What a child has that was made between two looks at its parent's table, of which this is one.
    void keep_common(const FileTable &other);

    // Empty: not known.
    std::string path_of(std::uint64_t descriptor) const;
    const SharedMappings &shared() const { return shared_; }

private:
    struct OpenFile {
        std::string path = {};
        std::uint64_t id = 0; // of the open(); 0: not to be relied on

        bool operator==(const OpenFile &) const = default;
    };

    std::uint64_t id_of(std::uint64_t descriptor) const;
    void close(std::uint64_t first, std::uint64_t last);

    std::map<std::uint32_t, OpenFile> open_; // by descriptor
    SharedMappings shared_;
    bool followed_ = true;
};

bool opens_file(std::uint64_t system_call);

} // namespace fencepost::tracer
