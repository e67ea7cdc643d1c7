// SPDX-License-Identifier: GPL-2.0-or-later
// See symbol_file.h. All symbols are in one section, which spans the kernel and its modules: a
// debugger needs no more to turn addresses into names and names into addresses.
#include "replayer/guest/symbol_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <vector>

#include <elf.h>

namespace fencepost::guest {

namespace {

constexpr std::uint64_t kKernelHalf = 0xffff800000000000u;

struct Name {
    std::uint64_t address = 0;
    std::string_view name;
};

// "ffffffff81000000 T _text", "ffffffffc0000000 t start\t[module]"
std::vector<Name> names_in(std::string_view kallsyms)
{
    std::vector<Name> names;
    while (!kallsyms.empty()) {
        const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
        kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
        Name name;
        const auto parsed =
            std::from_chars(line.data(), line.data() + line.size(), name.address, 16);
        const auto digits = static_cast<std::size_t>(parsed.ptr - line.data());
        if (parsed.ec != std::errc() || name.address < kKernelHalf || line.size() < digits + 4)
            continue; // places for each CPU are offsets
        name.name = line.substr(digits + 3);
        name.name = name.name.substr(0, name.name.find('\t'));
        names.push_back(name);
    }
    std::stable_sort(names.begin(), names.end(),
                     [](const Name &a, const Name &b) { return a.address < b.address; });
    return names;
}

template <typename Record> void append(std::string &file, const Record &record)
{
    file.append(reinterpret_cast<const char *>(&record), sizeof record);
}

} // namespace

std::string symbol_file(std::string_view kallsyms)
{
    enum Section { kNone, kText, kSymbols, kStrings, kSectionNames, kSections };
    static constexpr char kNames[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
    const std::vector<Name> names = names_in(kallsyms);
    std::string strings(1, '\0');
    std::string symbols;
    append(symbols, Elf64_Sym{});
    for (const Name &each : names) {
        Elf64_Sym symbol = {};
        symbol.st_name = static_cast<Elf64_Word>(strings.size());
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        symbol.st_shndx = kText;
        symbol.st_value = each.address;
        append(symbols, symbol);
        strings.append(each.name).push_back('\0');
    }
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = kSections;
    header.e_shstrndx = kSectionNames;
    Elf64_Shdr sections[kSections] = {};
    std::uint64_t at = sizeof header + sizeof sections;
    const auto place = [&](Section section, Elf64_Word name, Elf64_Word type, std::size_t size) {
        sections[section].sh_name = name;
        sections[section].sh_type = type;
        sections[section].sh_offset = at;
        sections[section].sh_size = size;
        sections[section].sh_addralign = 1;
        at += type == SHT_NOBITS ? 0 : size;
    };
    const std::uint64_t first = names.empty() ? 0 : names.front().address;
    place(kText, 1, SHT_NOBITS, names.empty() ? 0 : names.back().address + 1 - first);
    sections[kText].sh_addr = first;
    sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    place(kSymbols, 7, SHT_SYMTAB, symbols.size());
    sections[kSymbols].sh_link = kStrings;
    sections[kSymbols].sh_info = 1;
    sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
    place(kStrings, 15, SHT_STRTAB, strings.size());
    place(kSectionNames, 23, SHT_STRTAB, sizeof kNames);
    std::string file;
    append(file, header);
    append(file, sections);
    return file + symbols + strings + std::string(kNames, sizeof kNames);
}

} // namespace fencepost::guest
