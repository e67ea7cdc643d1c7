// SPDX-License-Identifier: GPL-2.0-or-later
// See cpio_archive.h. An entry is a header of 110 bytes in hexadecimal (cpio(5)), the name and the
// contents, each padded to a multiple of four.
#include "analyzer/symbols/cpio_archive.h"

#include <charconv>

#include <sys/stat.h>

#include "analyzer/symbols/source_file.h"

namespace fencepost::symbols {

namespace {

constexpr std::size_t kHeaderBytes = 110;
enum Field { kMode = 1, kFileSize = 6, kNameSize = 11 };

std::optional<std::uint64_t> field(std::string_view header, Field number)
{
    const char *start = header.data() + 6 + 8 * static_cast<std::size_t>(number);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(start, start + 8, value, 16);
    return error == std::errc() && end == start + 8 ? std::optional(value) : std::nullopt;
}

std::uint64_t padded(std::uint64_t offset)
{
    return (offset + 3) / 4 * 4;
}

} // namespace

std::optional<CpioArchive> CpioArchive::open(const std::filesystem::path &path)
{
    auto bytes = read_source(path);
    return bytes ? parse(std::move(*bytes)) : std::nullopt;
}

std::optional<CpioArchive> CpioArchive::parse(std::string bytes)
{
    CpioArchive archive;
    archive.bytes_ = std::move(bytes);
    const std::string_view all = archive.bytes_;
    std::uint64_t at = 0;
    while (true) {
        // Archives that follow each other have zeros between them.
        while (at < all.size() && all[at] == '\0')
            ++at;
        if (all.size() - at < kHeaderBytes ||
            (all.substr(at, 6) != "070701" && all.substr(at, 6) != "070702"))
            break;
        const std::string_view header = all.substr(at, kHeaderBytes);
        const auto mode = field(header, kMode);
        const auto size = field(header, kFileSize);
        const auto name_size = field(header, kNameSize);
        if (!mode || !size || !name_size || *name_size == 0)
            break;
        const std::uint64_t name_at = at + kHeaderBytes;
        const std::uint64_t contents_at = padded(name_at + *name_size);
        if (contents_at > all.size() || *size > all.size() - contents_at)
            break;
        const std::string_view name = all.substr(name_at, *name_size - 1);
        if (S_ISREG(*mode) || S_ISLNK(*mode))
            archive.entries_[absolute(name)] = {
                .is_link = S_ISLNK(*mode), .offset = contents_at, .size = *size};
        at = padded(contents_at + *size);
        if (at > all.size())
            break;
    }
    if (archive.entries_.empty())
        return std::nullopt;
    return archive;
}

const CpioArchive::Entry *CpioArchive::find(const std::string &path) const
{
    const auto entry = entries_.find(path);
    return entry == entries_.end() ? nullptr : &entry->second;
}

std::string_view CpioArchive::contents(const Entry &entry) const
{
    return std::string_view(bytes_).substr(entry.offset, entry.size);
}

} // namespace fencepost::symbols
