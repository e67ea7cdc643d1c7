// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's files as far as the host has copies of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/cpio_archive.h"
#include "analyzer/symbols/symbolize.h"

namespace fencepost::symbols {

class GuestFiles {
public:
    // What cannot be opened is told in `notes`.
    GuestFiles(const SymbolSources &sources, std::vector<std::string> &notes);

    // The contents of a file of the guest, symbolic links followed inside the guest.
    std::optional<std::string> read(const std::string &guest_path) const;

private:
    std::string resolved(const std::string &guest_path) const;
    std::optional<std::string> link_target(const std::string &path) const;

    std::map<std::string, std::filesystem::path> files_;
    std::vector<std::filesystem::path> trees_;
    std::vector<CpioArchive> archives_;
};

} // namespace fencepost::symbols
