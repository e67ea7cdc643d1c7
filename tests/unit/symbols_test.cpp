// SPDX-License-Identifier: GPL-2.0-or-later
// Symbol tables, kallsyms and the guest's files: what is found at which address, and what hostile
// input does (nothing).
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "analyzer/symbols/cpio_archive.h"
#include "analyzer/symbols/guest_files.h"
#include "analyzer/symbols/kallsyms.h"
#include "analyzer/symbols/source_file.h"
#include "analyzer/symbols/symbol_table.h"
#include "base/files.h"

namespace fencepost::symbols {
namespace {

std::string name_at(const SymbolTable &table, std::uint64_t address)
{
    const CodeSymbol *found = table.find(address);
    return found ? found->name : "-";
}

SymbolTable table_of(std::vector<CodeSymbol> symbols, std::vector<std::uint64_t> limits = {})
{
    SymbolTable table;
    for (CodeSymbol &symbol : symbols)
        table.add(std::move(symbol));
    for (const std::uint64_t limit : limits)
        table.add_limit(limit);
    table.finish();
    return table;
}

TEST(SymbolTable, BoundariesOfFunctions)
{
    const SymbolTable table = table_of({{.address = 0x100, .size = 0x10, .name = "a"},
                                        {.address = 0x110, .size = 0x8, .name = "b"},
                                        {.address = 0x200, .size = 1, .name = "c"}});
    EXPECT_EQ(name_at(table, 0xff), "-");
    EXPECT_EQ(name_at(table, 0x100), "a");
    EXPECT_EQ(name_at(table, 0x10f), "a");
    EXPECT_EQ(name_at(table, 0x110), "b");
    EXPECT_EQ(name_at(table, 0x117), "b");
    EXPECT_EQ(name_at(table, 0x118), "-");
    EXPECT_EQ(name_at(table, 0x200), "c");
    EXPECT_EQ(name_at(table, 0x201), "-");
    EXPECT_EQ(name_at(table, UINT64_MAX), "-");
    EXPECT_EQ(name_at(table_of({}), 5), "-");
}

TEST(SymbolTable, OverlapsAliasesAndSizelessSymbols)
{
    const SymbolTable table =
        table_of({{.address = 0x100, .size = 0x100, .name = "outer"},
                  {.address = 0x140, .size = 0x10, .name = "inner"},
                  {.address = 0x180, .size = 0, .rank = SymbolRank::local, .name = "label"},
                  {.address = 0x300, .size = 8, .rank = SymbolRank::local, .name = "a_local"},
                  {.address = 0x300, .size = 8, .rank = SymbolRank::global, .name = "the_global"},
                  {.address = 0x300, .size = 8, .rank = SymbolRank::weak, .name = "a_weak"},
                  {.address = 0x300, .size = 64, .rank = SymbolRank::local, .name = "longer"},
                  {.address = 0x400, .size = 0, .name = "no_size"},
                  {.address = 0x480, .size = 0, .name = "last"},
                  {.address = UINT64_MAX - 4, .size = 100, .name = "wraps"}},
                 {0x440});
    EXPECT_EQ(name_at(table, 0x13f), "outer");
    EXPECT_EQ(name_at(table, 0x140), "inner");
    EXPECT_EQ(name_at(table, 0x150), "outer");
    EXPECT_EQ(name_at(table, 0x180), "outer") << "a label in a function is not a function";
    EXPECT_EQ(name_at(table, 0x1ff), "outer");
    EXPECT_EQ(name_at(table, 0x200), "-");
    EXPECT_EQ(name_at(table, 0x307), "the_global");
    EXPECT_EQ(name_at(table, 0x308), "longer");
    EXPECT_EQ(name_at(table, 0x43f), "no_size");
    EXPECT_EQ(name_at(table, 0x440), "-") << "beyond its limit";
    EXPECT_EQ(name_at(table, 0x480), "last");
    EXPECT_EQ(name_at(table, UINT64_MAX - 1), "wraps");
    EXPECT_EQ(name_at(table, 0), "-");
}

// The same by looking at every symbol.
std::string slow_name_at(const std::vector<CodeSymbol> &symbols, std::uint64_t address)
{
    const CodeSymbol *best = nullptr;
    for (const CodeSymbol &symbol : symbols)
        if (address >= symbol.address && address - symbol.address < symbol.size &&
            (!best || symbol.address > best->address ||
             (symbol.address == best->address &&
              std::tie(symbol.rank, symbol.name) < std::tie(best->rank, best->name))))
            best = &symbol;
    return best ? best->name : "-";
}

TEST(SymbolTable, RandomTablesEqualASlowSearch)
{
    std::mt19937_64 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<CodeSymbol> symbols;
        for (std::uint64_t i = random() % 30; i > 0; --i)
            symbols.push_back({.address = random() % 200,
                               .size = 1 + random() % (random() % 4 ? 20 : 150),
                               .rank = static_cast<SymbolRank>(random() % 3),
                               .name = std::string(1, static_cast<char>('a' + i))});
        const SymbolTable table = table_of(symbols);
        for (std::uint64_t address = 0; address < 400; ++address)
            ASSERT_EQ(name_at(table, address), slow_name_at(symbols, address)) << round;
    }
}

constexpr char kKallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                             "ffffffff81000000 T _text\n"
                             "ffffffff81000000 T startup_64\n"
                             "ffffffff81000040 t local_one\n"
                             "ffffffff81000040 T __pfx_something\n"
                             "ffffffff81000060 W weak_alias\n"
                             "ffffffff81000060 T memcpy\n"
                             "ffffffff81000100 T _etext\n"
                             "ffffffff81200000 D some_data\n"
                             "ffffffffc0300000 t ext4_first\t[ext4]\n"
                             "ffffffffc0300050 T ext4_last\t[ext4]\n"
                             "ffffffffc0400000 t jbd2_first\t[jbd2]\n";
constexpr char kModules[] = "jbd2 4096 1 ext4, Live 0xffffffffc0400000\n"
                            "ext4 256 1 - Live 0xffffffffc0300000 (E)\n";

TEST(Kallsyms, KernelAndModules)
{
    std::size_t skipped = 0;
    const auto modules = parse_modules(kModules, skipped);
    ASSERT_EQ(modules.size(), 2u);
    EXPECT_EQ(modules[1].name, "ext4");
    EXPECT_EQ(modules[1].base, 0xffffffffc0300000);
    SymbolTable table = parse_kallsyms(kKallsyms, modules, skipped);
    table.finish();
    EXPECT_EQ(skipped, 0u);
    EXPECT_EQ(name_at(table, 0xffffffff81000000), "startup_64");
    EXPECT_EQ(name_at(table, 0xffffffff8100003f), "startup_64");
    EXPECT_EQ(name_at(table, 0xffffffff81000040), "local_one");
    EXPECT_EQ(name_at(table, 0xffffffff81000060), "memcpy");
    EXPECT_EQ(name_at(table, 0xffffffff810000ff), "memcpy");
    EXPECT_EQ(name_at(table, 0xffffffff81000100), "-") << "the end of the kernel's code";
    EXPECT_EQ(name_at(table, 0xffffffffc0300050), "ext4_last");
    EXPECT_EQ(name_at(table, 0xffffffffc03000ff), "ext4_last");
    EXPECT_EQ(name_at(table, 0xffffffffc0300100), "-") << "the end of the module";
    EXPECT_EQ(table.find(0xffffffffc0300050)->module, "ext4");
    EXPECT_EQ(table.find(0xffffffff81000041)->module, "kernel");
    EXPECT_EQ(name_at(table, 0x10), "-") << "per-CPU data is not code";
}

TEST(Kallsyms, WhatMakesNoSenseIsSkipped)
{
    std::size_t skipped = 0;
    SymbolTable table = parse_kallsyms("\n\nx T a\nffffffff81000000 T\nffffffff81000000 TT b\n"
                                       "ffffffff81000010 T good\n11112222333344445555 T c\n"
                                       "0000000000000000 T hidden\nffffffff81000020 T g2 [\n",
                                       {}, skipped);
    table.finish();
    EXPECT_EQ(skipped, 4u);
    EXPECT_EQ(table.size(), 2u);
    EXPECT_EQ(name_at(table, 0xffffffff81000010), "good");
    skipped = 0;
    EXPECT_EQ(parse_modules("a b c\next4 1 1 - Live 0x0000000000000000\n"
                            "big 18446744073709551615 1 - Live 0xffffffffc0000000\n",
                            skipped)
                  .size(),
              0u);
    EXPECT_EQ(skipped, 2u);

    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::string text = kKallsyms;
        for (int i = 0; i < 5; ++i)
            text[random() % text.size()] = static_cast<char>(random());
        SymbolTable damaged = parse_kallsyms(text, parse_modules(text, skipped), skipped);
        damaged.finish();
        damaged.find(0xffffffff81000050);
    }
}

std::string newc(const std::string &name, unsigned mode, const std::string &contents)
{
    std::string entry = "070701";
    const unsigned fields[] = {1,
                               mode,
                               0,
                               0,
                               1,
                               0,
                               static_cast<unsigned>(contents.size()),
                               0,
                               0,
                               0,
                               0,
                               static_cast<unsigned>(name.size() + 1),
                               0};
    for (const unsigned field : fields)
        entry += fmt::format("{:08x}", field);
    entry += name + '\0';
    entry.resize((entry.size() + 3) / 4 * 4);
    entry += contents;
    entry.resize((entry.size() + 3) / 4 * 4);
    return entry;
}

constexpr unsigned kFile = 0100644, kLink = 0120777, kDirectory = 040755;

std::string small_archive()
{
    return newc("bin", kLink, "usr/bin") + newc("usr", kDirectory, "") +
           newc("usr/bin/prog", kFile, "the program") + newc("usr/bin/alias", kLink, "/bin/prog") +
           newc("loop", kLink, "loop") + newc("TRAILER!!!", 0, "");
}

TEST(CpioArchive, EntriesAndConcatenation)
{
    const auto archive = CpioArchive::parse(small_archive() + std::string(512, '\0') +
                                            newc("./late", kFile, "late"));
    ASSERT_TRUE(archive);
    ASSERT_TRUE(archive->find("/usr/bin/prog"));
    EXPECT_EQ(archive->contents(*archive->find("/usr/bin/prog")), "the program");
    EXPECT_EQ(archive->contents(*archive->find("/late")), "late");
    EXPECT_TRUE(archive->find("/bin")->is_link);
    EXPECT_FALSE(archive->find("/usr"));
    EXPECT_FALSE(CpioArchive::parse("").has_value());
    EXPECT_FALSE(CpioArchive::parse("no archive at all, but longer than a header ................"
                                    "..................................................")
                     .has_value());
}

TEST(CpioArchive, DamageIsHarmless)
{
    const std::string good = small_archive();
    for (std::size_t size = 0; size < good.size(); ++size)
        CpioArchive::parse(good.substr(0, size));
    std::mt19937_64 random(1);
    for (int round = 0; round < 5000; ++round) {
        std::string text = good;
        for (int i = 0; i < 3; ++i)
            text[random() % text.size()] = round % 2 ? 'f' : static_cast<char>(random());
        const auto archive = CpioArchive::parse(text);
        for (const char *path : {"/bin", "/usr/bin/prog", "/loop"}) {
            const auto *entry = archive ? archive->find(path) : nullptr;
            EXPECT_LE(entry ? archive->contents(*entry).size() : 0, text.size());
        }
    }
}

class GuestFilesTest : public testing::Test {
protected:
    std::filesystem::path put(const std::string &name, const std::string &text) const
    {
        std::filesystem::create_directories((directory_.path() / name).parent_path());
        write_file(directory_.path() / name, text);
        return directory_.path() / name;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "guest_files"};
};

TEST_F(GuestFilesTest, LinksAreTheGuestsOwn)
{
    std::string archive = small_archive();
    std::string frame(ZSTD_compressBound(archive.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), archive.data(), archive.size(), 1));
    put("secret", "of the host");
    put("tree/lib/real.so", "a library");
    const auto tree = directory_.path() / "tree";
    std::filesystem::create_symlink("/lib/real.so", tree / "lib/abs.so");
    std::filesystem::create_symlink("../../secret", tree / "lib/escape");
    std::filesystem::create_symlink(directory_.path() / "secret", tree / "lib/escape2");
    std::filesystem::create_symlink(directory_.path(), tree / "away");
    std::vector<std::string> notes;
    const GuestFiles files({.files = {{"/opt/copied", put("host/copied", "copied")},
                                      {"/bin/mine", put("host/mine", "copied to where /bin is")}},
                            .trees = {tree},
                            .archives = {put("initrd.zst", frame), put("broken", "x")}},
                           notes);
    EXPECT_EQ(files.read("/opt/copied"), "copied");
    EXPECT_EQ(files.read("/opt/./x/../copied"), "copied");
    EXPECT_EQ(files.read("/lib/abs.so"), "a library");
    EXPECT_EQ(files.read("/lib/escape"), std::nullopt);
    EXPECT_EQ(files.read("/lib/escape2"), std::nullopt);
    EXPECT_EQ(files.read("/away/secret"), std::nullopt);
    EXPECT_EQ(files.read("/bin/prog"), "the program");
    EXPECT_EQ(files.read("/bin/alias"), "the program");
    EXPECT_EQ(files.read("/bin/mine"), "copied to where /bin is");
    EXPECT_EQ(files.read("bin/prog"), "the program");
    EXPECT_EQ(files.read("/loop"), std::nullopt);
    EXPECT_EQ(files.read("/nothing"), std::nullopt);
    EXPECT_EQ(files.read("/"), std::nullopt);
    EXPECT_EQ(files.read("/lib"), std::nullopt);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("broken"), std::string::npos);
}

TEST_F(GuestFilesTest, SourcesMayBeCompressedOrBroken)
{
    const std::string text(100000, 'x');
    std::string frame(ZSTD_compressBound(text.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
    EXPECT_EQ(read_source(put("a.zst", frame)), text);
    EXPECT_EQ(read_source(put("b.zst", frame.substr(0, frame.size() - 1))), std::nullopt);
    frame[frame.size() / 2] ^= 0x55;
    read_source(put("c.zst", frame));
    EXPECT_EQ(read_source(put("d", "plain")), "plain");
    EXPECT_EQ(read_source(directory_.path() / "none"), std::nullopt);
    EXPECT_EQ(read_source(directory_.path()), std::nullopt);
    EXPECT_EQ(read_source("/dev/zero"), std::nullopt);
}

} // namespace
} // namespace fencepost::symbols
