// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_files.h. Links are followed one path component at a time and in the guest's terms, so
// that one in a tree cannot lead to a file of the host.
#include "analyzer/symbols/guest_files.h"

#include "analyzer/symbols/source_file.h"

namespace fencepost::symbols {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxLinks = 40; // as the kernel has it

// Of several trees a later one may have a link where an earlier one has a directory.
bool is_plain_file(const fs::path &tree, const std::string &path)
{
    std::error_code error;
    for (std::size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1))
        if (!fs::is_directory(fs::symlink_status(tree / path.substr(1, end - 1), error)))
            return false;
    return fs::is_regular_file(fs::symlink_status(tree / path.substr(1), error));
}

} // namespace

GuestFiles::GuestFiles(const SymbolSources &sources, std::vector<std::string> &notes)
    : trees_(sources.trees)
{
    for (const fs::path &path : sources.archives) {
        if (auto archive = CpioArchive::open(path))
            archives_.push_back(std::move(*archive));
        else
            notes.push_back(path.string() + " is not an initrd that can be read");
    }
    // /bin may be a link to /usr/bin: whoever looks for the file has followed it.
    for (const GuestFile &file : sources.files)
        files_.emplace(resolved(file.guest_path), file.host_file);
}

std::optional<std::string> GuestFiles::link_target(const std::string &path) const
{
    if (files_.contains(path))
        return std::nullopt;
    std::error_code error;
    for (const fs::path &tree : trees_) {
        const fs::path here = tree / path.substr(1);
        const fs::file_status status = fs::symlink_status(here, error);
        if (fs::is_symlink(status))
            return fs::read_symlink(here, error).string();
        if (fs::exists(status))
            return std::nullopt;
    }
    for (const CpioArchive &archive : archives_)
        if (const auto *entry = archive.find(path))
            return entry->is_link ? std::optional(std::string(archive.contents(*entry)))
                                  : std::nullopt;
    return std::nullopt;
}

std::string GuestFiles::resolved(const std::string &guest_path) const
{
    std::string path = absolute(guest_path);
    int links = 0;
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string prefix = path.substr(0, end);
        const auto target = link_target(prefix);
        if (target) {
            if (++links > kMaxLinks)
                return "";
            const fs::path parent = fs::path(prefix).parent_path();
            const std::string rest = end == path.npos ? "" : path.substr(end);
            path = absolute((parent / *target).string() + rest);
            end = 0;
            continue;
        }
        if (end == path.npos)
            return path;
    }
}

std::optional<std::string> GuestFiles::read(const std::string &guest_path) const
{
    const std::string path = resolved(guest_path);
    if (path.empty())
        return std::nullopt;
    if (const auto file = files_.find(path); file != files_.end())
        return read_source(file->second);
    for (const fs::path &tree : trees_)
        if (is_plain_file(tree, path))
            return read_source(tree / path.substr(1));
    for (const CpioArchive &archive : archives_)
        if (const auto *entry = archive.find(path))
            return std::string(archive.contents(*entry));
    return std::nullopt;
}

} // namespace fencepost::symbols
