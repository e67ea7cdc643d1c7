// SPDX-License-Identifier: GPL-2.0-or-later
// The tracer's decoder against Zydis, on all code of ELF files and on random bytes. Prints how
// often they differ, and why that is right; a difference that no explanation covers is an error.
// usage: compare_decoders [--random COUNT] [--seed SEED] [FILE...]
#include <array>
#include <cstring>
#include <elf.h>
#include <map>
#include <random>

#include <capstone.h>
#include <fmt/format.h>

#include "base/files.h"
#include "tests/decoders/explanations.h"

namespace fencepost::tracer {
namespace {

using Bytes = std::span<const std::uint8_t>;

class Comparison {
public:
    Comparison() { cs_open(CS_ARCH_X86, CS_MODE_64, &capstone_); }
    ~Comparison() { cs_close(&capstone_); }
    // Whatever begins here; the length of it, 0 where Zydis knows nothing.
    std::size_t compare_at(Bytes bytes, bool random);
    // 0: every difference is explained.
    int report() const;

private:
    struct Count {
        std::uint64_t cases = 0;
        std::string example;
    };

    void compare(Bytes instruction, bool random);

    Decoder decoder_;
    csh capstone_ = 0; // for the length of what only capstone knows
    std::uint64_t compared_ = 0;
    std::uint64_t differing_ = 0;
    std::map<std::size_t, Count> explained_; // by index in kExplanations
    std::map<std::string, Count> unexplained_;
};

std::string hex(Bytes bytes)
{
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

std::size_t Comparison::compare_at(Bytes bytes, bool random)
{
    const Bytes most = bytes.first(std::min<std::size_t>(bytes.size(), 15));
    if (const std::size_t length = zydis_length(most)) {
        compare(most.first(length), random);
        return length;
    }
    cs_insn *found = nullptr;
    if (cs_disasm(capstone_, most.data(), most.size(), 0, 1, &found) == 1) {
        compare(most.first(found->size), random);
        cs_free(found, 1);
        return 0;
    }
    ++compared_;
    return 0;
}

void Comparison::compare(Bytes instruction, bool random)
{
    ++compared_;
    const Case given = {instruction, random, zydis_decode(instruction),
                        decoder_.decode(instruction)};
    const std::uint32_t fields = differing_fields(given.zydis.what, given.own);
    if (fields == 0)
        return;
    ++differing_;
    std::uint32_t left = fields;
    for (std::size_t i = 0; i < kExplanations.size() && left != 0; ++i) {
        const Explanation &explanation = kExplanations[i];
        if (!(left & explanation.fields) || !explanation.covers(given))
            continue;
        left &= ~explanation.fields;
        Count &count = explained_[i];
        if (++count.cases == 1)
            count.example =
                fmt::format("{}  {}", hex(instruction), decoder_.disassemble(instruction, 0));
    }
    if (left == 0)
        return;
    Count &count = unexplained_[fmt::format("{} {} ({})", field_names(left), given.zydis.mnemonic,
                                            given.zydis.set)];
    if (++count.cases == 1)
        count.example =
            fmt::format("{}  {}", hex(instruction), decoder_.disassemble(instruction, 0));
}

int Comparison::report() const
{
    fmt::print("{} instructions compared, {} the same, {} differ\n", compared_,
               compared_ - differing_, differing_);
    for (const auto &[index, count] : explained_)
        fmt::print("{:>12}  {}\n              first: {}\n", count.cases, kExplanations[index].why,
                   count.example);
    for (const auto &[what, count] : unexplained_)
        fmt::print("{:>12}  NOT EXPLAINED: {}\n              first: {}\n", count.cases, what,
                   count.example);
    return unexplained_.empty() ? 0 : 1;
}

// All sections with code, one instruction after the other.
void compare_file(const std::string &path, Comparison &comparison)
{
    const std::string file = read_named_file(path);
    const Bytes bytes(reinterpret_cast<const std::uint8_t *>(file.data()), file.size());
    Elf64_Ehdr header;
    if (file.size() < sizeof header)
        return;
    std::memcpy(&header, file.data(), sizeof header);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
        if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_type != SHT_PROGBITS)
            continue;
        Bytes code = bytes.subspan(section.sh_offset, section.sh_size);
        while (!code.empty())
            code = code.subspan(std::max<std::size_t>(comparison.compare_at(code, false), 1));
    }
}

// Mostly what matters: prefixes in any order, then an opcode map, then often an opcode that stores
// past the cache, flushes, fences or locks.
void compare_random(std::uint64_t count, std::uint64_t seed, Comparison &comparison)
{
    constexpr std::uint8_t kPrefixes[] = {0x66, 0xf2, 0xf3, 0xf0, 0x67, 0x2e, 0x3e,
                                          0x64, 0x65, 0x40, 0x48, 0x4c, 0x41};
    constexpr std::array<std::uint8_t, 2> kStarts[] = {
        {0x0f, 0xae}, {0x0f, 0x2b}, {0x0f, 0xe7}, {0x0f, 0xc3}, {0x0f, 0xf7}, {0x0f, 0xc7},
        {0x0f, 0x01}, {0x0f, 0x09}, {0x0f, 0x38}, {0x0f, 0x3a}, {0x0f, 0xb1}, {0x0f, 0x22}};
    constexpr std::uint8_t kOthers[] = {0x0f, 0x0f, 0x0f, 0xc4, 0xc5, 0x62, 0x8f};
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto &from) { return from[random() % std::size(from)]; };
    std::array<std::uint8_t, 24> bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (std::size_t at = 0; at < bytes.size(); at += 8) {
            const std::uint64_t word = random();
            std::memcpy(bytes.data() + at, &word, sizeof word);
        }
        std::size_t at = 0;
        for (std::uint64_t prefixes = random() % 5; prefixes > 1; --prefixes)
            bytes[at++] = pick(kPrefixes);
        switch (random() % 4) {
        case 0:
            break;
        case 1:
            bytes[at] = pick(kOthers);
            // One of the maps that exist, mostly.
            if (random() % 4 != 0)
                bytes[at + 1] =
                    static_cast<std::uint8_t>((bytes[at + 1] & 0xe0) | (random() % 3 + 1));
            break;
        default: {
            const auto start = pick(kStarts);
            std::copy(start.begin(), start.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
            if (start[1] == 0x38 && random() % 2 == 0)
                bytes[at + 2] |= 0xf0;
        }
        }
        comparison.compare_at(bytes, true);
    }
}

int run(int argc, char **argv)
{
    Comparison comparison;
    std::uint64_t count = 0;
    std::uint64_t seed = 1;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--random" && i + 1 < argc)
            count = std::strtoull(argv[++i], nullptr, 10);
        else if (argument == "--seed" && i + 1 < argc)
            seed = std::strtoull(argv[++i], nullptr, 10);
        else
            compare_file(argv[i], comparison);
    }
    compare_random(count, seed, comparison);
    return comparison.report();
}

} // namespace
} // namespace fencepost::tracer

int main(int argc, char **argv)
{
    try {
        return fencepost::tracer::run(argc, argv);
    } catch (const std::exception &error) {
        fmt::print(stderr, "compare_decoders: {}\n", error.what());
        return 2;
    }
}
