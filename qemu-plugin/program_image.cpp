// SPDX-License-Identifier: GPL-2.0-or-later
// See program_image.h. Everything here was written by the guest: sizes are bounded, pointers may
// lead nowhere.
#include "qemu-plugin/program_image.h"

#include <cstring>
#include <span>

#include <elf.h>
#include <linux/auxvec.h>

namespace fencepost::tracer {

namespace {

constexpr std::uint64_t kMaxWords = 1 << 16; // of arguments and environment
constexpr std::uint64_t kMaxVector = 64;     // entries of the auxiliary vector
constexpr std::uint64_t kMaxHeaders = 64;
constexpr std::uint64_t kMaxInterpreter = 64 << 20;
constexpr std::size_t kMaxPath = 4096;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kVdsoBytes = 2 * kPage;

// Past the NULL that ends a list of pointers.
std::optional<std::uint64_t> end_of_list(GuestMemory &memory, std::uint64_t at)
{
    for (std::uint64_t i = 0; i < kMaxWords; ++i, at += 8) {
        const std::optional<std::uint64_t> word = memory.read_word(at);
        if (!word)
            return std::nullopt;
        if (*word == 0)
            return at + 8;
    }
    return std::nullopt;
}

template <typename Struct>
std::optional<Struct> read_struct(GuestMemory &memory, std::uint64_t address)
{
    const std::optional<std::string> bytes = memory.read_bytes(address, sizeof(Struct));
    if (!bytes)
        return std::nullopt;
    Struct result;
    std::memcpy(&result, bytes->data(), sizeof result);
    return result;
}

std::optional<std::vector<Elf64_Phdr>> read_headers(GuestMemory &memory, std::uint64_t address,
                                                    std::uint64_t count)
{
    if (count == 0 || count > kMaxHeaders)
        return std::nullopt;
    std::vector<Elf64_Phdr> headers;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto header = read_struct<Elf64_Phdr>(memory, address + i * sizeof(Elf64_Phdr));
        if (!header)
            return std::nullopt;
        headers.push_back(*header);
    }
    return headers;
}

// Where the file's addresses are in memory: 0 for a program that is not position-independent.
std::uint64_t load_bias(std::span<const Elf64_Phdr> headers, std::uint64_t headers_at)
{
    for (const Elf64_Phdr &header : headers)
        if (header.p_type == PT_PHDR)
            return headers_at - header.p_vaddr;
    for (const Elf64_Phdr &header : headers)
        if (header.p_type == PT_LOAD && header.p_offset == 0)
            return headers_at - sizeof(Elf64_Ehdr) - header.p_vaddr;
    return 0;
}

void add_code(std::vector<Mapping> &mappings, std::span<const Elf64_Phdr> headers,
              std::uint64_t bias, const std::string &path)
{
    for (const Elf64_Phdr &header : headers) {
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
            continue;
        const std::uint64_t slack = header.p_vaddr % kPage;
        mappings.push_back(
            {bias + header.p_vaddr - slack, header.p_memsz + slack, header.p_offset - slack, path});
    }
}

bool add_interpreter(GuestMemory &memory, std::vector<Mapping> &mappings, std::uint64_t base,
                     const std::string &path)
{
    const auto elf = read_struct<Elf64_Ehdr>(memory, base);
    if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const auto headers = read_headers(memory, base + elf->e_phoff, elf->e_phnum);
    if (!headers)
        return false;
    add_code(mappings, *headers, base, path);
    return true;
}

} // namespace

std::optional<ProgramStart> read_program_start(GuestMemory &memory, std::uint64_t stack,
                                               std::uint64_t pc)
{
    const std::optional<std::uint64_t> arguments = memory.read_word(stack);
    if (stack % 16 != 0 || !arguments || *arguments > kMaxWords)
        return std::nullopt;
    const std::optional<std::uint64_t> environment =
        end_of_list(memory, stack + 8 + *arguments * 8);
    if (!environment || *environment != stack + 8 + (*arguments + 1) * 8)
        return std::nullopt;
    const std::optional<std::uint64_t> vector = end_of_list(memory, *environment);
    if (!vector)
        return std::nullopt;
    ProgramStart start;
    std::uint64_t path = 0;
    for (std::uint64_t i = 0; i < kMaxVector; ++i) {
        const std::optional<std::uint64_t> type = memory.read_word(*vector + i * 16);
        const std::optional<std::uint64_t> value = memory.read_word(*vector + i * 16 + 8);
        if (!type || !value)
            return std::nullopt;
        if (*type == AT_NULL)
            break;
        if (*type == AT_PHDR)
            start.headers = *value;
        else if (*type == AT_PHNUM)
            start.header_count = *value;
        else if (*type == AT_ENTRY)
            start.entry = *value;
        else if (*type == AT_BASE)
            start.interpreter = *value;
        else if (*type == AT_SYSINFO_EHDR)
            start.vdso = *value;
        else if (*type == AT_EXECFN)
            path = *value;
    }
    const bool at_entry =
        pc == start.entry || (start.interpreter != 0 && pc - start.interpreter < kMaxInterpreter);
    if (start.headers == 0 || !at_entry)
        return std::nullopt;
    start.path = memory.read_text(path, kMaxPath).value_or("");
    return start;
}

std::optional<std::vector<Mapping>> read_image(GuestMemory &memory, const ProgramStart &start)
{
    const auto headers = read_headers(memory, start.headers, start.header_count);
    if (!headers)
        return std::nullopt;
    std::vector<Mapping> mappings;
    const std::uint64_t bias = load_bias(*headers, start.headers);
    add_code(mappings, *headers, bias, start.path);
    for (const Elf64_Phdr &header : *headers) {
        if (header.p_type != PT_INTERP || start.interpreter == 0)
            continue;
        const auto path = memory.read_text(bias + header.p_vaddr, kMaxPath);
        if (!path || !add_interpreter(memory, mappings, start.interpreter, *path))
            return std::nullopt;
    }
    if (start.vdso)
        mappings.push_back({start.vdso, kVdsoBytes, 0, "[vdso]"});
    return mappings;
}

} // namespace fencepost::tracer
