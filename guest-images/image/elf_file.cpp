// SPDX-License-Identifier: GPL-2.0-or-later
// See elf_file.h. Layouts are those of <elf.h>; every access goes through load(), which checks.
#include "guest-images/image/elf_file.h"

#include <cstring>

#include <elf.h>

namespace fencepost::images {

namespace {

template <typename T> std::optional<T> load(std::string_view bytes, std::uint64_t offset)
{
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

} // namespace

struct ElfFile::Segment {
    std::uint32_t type;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t size; // in the file
};

std::optional<ElfFile> ElfFile::parse(std::string_view bytes)
{
    const auto header = load<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return std::nullopt;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
        return std::nullopt;
    return ElfFile(bytes);
}

bool ElfFile::relocatable() const
{
    return load<Elf64_Ehdr>(bytes_, 0)->e_type == ET_REL;
}

std::optional<std::string_view> ElfFile::piece(std::uint64_t offset, std::uint64_t size) const
{
    if (offset > bytes_.size() || bytes_.size() - offset < size)
        return std::nullopt;
    return bytes_.substr(offset, size);
}

std::optional<std::string> ElfFile::text_at(std::uint64_t offset) const
{
    if (offset >= bytes_.size())
        return std::nullopt;
    const auto end = bytes_.find('\0', offset);
    if (end == std::string_view::npos)
        return std::nullopt;
    return std::string(bytes_.substr(offset, end - offset));
}

std::optional<std::string_view> ElfFile::section(std::string_view name) const
{
    const auto header = *load<Elf64_Ehdr>(bytes_, 0);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > bytes_.size())
        return std::nullopt;
    const auto section_header = [&](std::uint64_t index) {
        return load<Elf64_Shdr>(bytes_, header.e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto names = section_header(header.e_shstrndx);
    if (!names || names->sh_offset > bytes_.size())
        return std::nullopt;
    for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
        const auto candidate = section_header(index);
        if (!candidate)
            return std::nullopt;
        if (candidate->sh_type == SHT_NOBITS ||
            text_at(names->sh_offset + candidate->sh_name) != name)
            continue;
        return piece(candidate->sh_offset, candidate->sh_size);
    }
    return std::nullopt;
}

std::vector<ElfFile::Segment> ElfFile::segments() const
{
    const auto header = *load<Elf64_Ehdr>(bytes_, 0);
    std::vector<Segment> all;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes_.size())
        return all;
    for (std::uint64_t index = 0; index < header.e_phnum; ++index) {
        const auto program = load<Elf64_Phdr>(bytes_, header.e_phoff + index * sizeof(Elf64_Phdr));
        if (!program)
            break;
        all.push_back({program->p_type, program->p_offset, program->p_vaddr, program->p_filesz});
    }
    return all;
}

std::vector<std::string> ElfFile::needed() const
{
    const std::vector<Segment> all = segments();
    std::string_view dynamic;
    for (const Segment &segment : all) {
        if (segment.type == PT_DYNAMIC)
            dynamic = piece(segment.offset, segment.size).value_or(std::string_view());
    }
    std::vector<std::uint64_t> names;
    std::uint64_t strings_address = 0;
    for (std::uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
        const auto entry = load<Elf64_Dyn>(dynamic, at);
        if (!entry || entry->d_tag == DT_NULL)
            break;
        if (entry->d_tag == DT_NEEDED)
            names.push_back(entry->d_un.d_val);
        else if (entry->d_tag == DT_STRTAB)
            strings_address = entry->d_un.d_ptr;
    }
    std::vector<std::string> result;
    for (const Segment &segment : all) {
        if (segment.type != PT_LOAD || strings_address < segment.address ||
            strings_address - segment.address >= segment.size || segment.offset > bytes_.size())
            continue;
        const std::uint64_t strings = segment.offset + (strings_address - segment.address);
        for (const std::uint64_t name : names) {
            if (name > bytes_.size())
                continue;
            if (auto text = text_at(strings + name))
                result.push_back(std::move(*text));
        }
        break;
    }
    return result;
}

std::optional<std::string> ElfFile::interpreter() const
{
    for (const Segment &segment : segments()) {
        if (segment.type == PT_INTERP)
            return text_at(segment.offset);
    }
    return std::nullopt;
}

} // namespace fencepost::images
