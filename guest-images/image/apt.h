// SPDX-License-Identifier: GPL-2.0-or-later
// Debian packages through apt and dpkg: asked for, downloaded and unpacked, never installed, so no
// privileges are needed and the host is not touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fencepost::images {

struct PackageRecord {
    std::string name;
    std::string version;
    std::string architecture;
    std::vector<std::string> depends; // names, alternatives included
    std::uint64_t bytes = 0;          // of the .deb file

    std::string file_name() const;
};

// The records in `apt-cache show` format, the first of each name.
std::map<std::string, PackageRecord> parse_records(const std::string &text);

// The candidate versions, by the name asked for; a virtual name gives the first package that
// provides it, an unknown one gives nothing.
std::map<std::string, PackageRecord> apt_show(const std::vector<std::string> &names);

// Puts the .deb files into `directory` under their file_name(). All at once, because apt takes a
// second to start.
void apt_download(const std::vector<PackageRecord> &records,
                  const std::filesystem::path &directory);

// Unpacks a .deb file into a directory that does not exist yet.
void unpack_package(const std::filesystem::path &file, const std::filesystem::path &directory);

} // namespace fencepost::images
