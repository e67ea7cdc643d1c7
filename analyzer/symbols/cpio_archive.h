// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the files of an initrd: "newc" cpio, perhaps several archives one after the other.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost::symbols {

class CpioArchive {
public:
    struct Entry {
        bool is_link = false;
        std::uint64_t offset = 0; // of the contents in the archive
        std::uint64_t size = 0;
    };

    // Plain or zstd. What follows the last entry that can be read is left out; nothing at all when
    // the bytes are no such archive.
    static std::optional<CpioArchive> open(const std::filesystem::path &path);
    static std::optional<CpioArchive> parse(std::string bytes);

    // By absolute path, without . or .. in it.
    const Entry *find(const std::string &path) const;
    std::string_view contents(const Entry &entry) const;

private:
    std::string bytes_;
    std::map<std::string, Entry> entries_;
};

} // namespace fencepost::symbols
