// SPDX-License-Identifier: GPL-2.0-or-later
// Registers and translations as the tracer asks QEMU for them, before a QEMU that refuses: from
// level 5 on registers cannot be read in callbacks that did not ask for it, and QEMU translates by
// itself.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qemu-plugin/guest_state.h"
#include "qemu-plugin/physical_memory.h"

namespace {

struct FakeQemu {
    bool gives_registers = true;
    std::map<std::string, std::uint64_t> registers;
    std::map<std::uint64_t, std::uint64_t> pages;      // virtual -> physical, by number
    std::map<std::uint64_t, std::uint64_t> words = {}; // by virtual address
    unsigned translations = 0;
};
FakeQemu qemu;

const std::vector<std::string> kNames = {"rax", "rcx", "rdx",     "rbx",     "rsp", "rbp", "rsi",
                                         "rdi", "r8",  "r9",      "r10",     "r11", "r12", "r13",
                                         "r14", "r15", "fs_base", "gs_base", "cr2", "cr3", "cr4"};
std::vector<std::uint8_t> storage(8192);
GByteArray bytes = {storage.data(), 0};
std::vector<qemu_plugin_reg_descriptor> descriptors;
GArray list;

} // namespace

// What the plugin finds in QEMU's process.
extern "C" {

GByteArray *g_byte_array_sized_new(unsigned)
{
    return &bytes;
}

GByteArray *g_byte_array_set_size(GByteArray *array, unsigned length)
{
    array->len = length;
    return array;
}

unsigned g_array_get_element_size(GArray *)
{
    return sizeof(qemu_plugin_reg_descriptor);
}

char *g_array_free(GArray *, int)
{
    return nullptr;
}

GArray *qemu_plugin_get_registers()
{
    descriptors.clear();
    for (const std::string &name : kNames)
        descriptors.push_back(
            {reinterpret_cast<qemu_plugin_register *>(const_cast<std::string *>(&name)),
             name.c_str(), ""});
    list = {reinterpret_cast<char *>(descriptors.data()),
            static_cast<unsigned>(descriptors.size())};
    return &list;
}

int qemu_plugin_read_register(qemu_plugin_register *handle, GByteArray *array)
{
    if (!qemu.gives_registers)
        return -1;
    const std::uint64_t value = qemu.registers[*reinterpret_cast<const std::string *>(handle)];
    std::memcpy(array->data + array->len, &value, sizeof value);
    array->len += sizeof value;
    return sizeof value;
}

bool qemu_plugin_read_memory_vaddr(std::uint64_t address, GByteArray *array, std::size_t length)
{
    const auto found = qemu.words.find(address);
    if (found == qemu.words.end() || length != sizeof found->second)
        return false;
    std::memcpy(array->data, &found->second, length);
    array->len = length;
    return true;
}

bool qemu_plugin_translate_vaddr(std::uint64_t address, std::uint64_t *physical)
{
    ++qemu.translations;
    const auto found = qemu.pages.find(address / 4096);
    if (found == qemu.pages.end())
        return false;
    *physical = found->second * 4096 + address % 4096;
    return true;
}

} // extern "C"

namespace fencepost::tracer {
namespace {

TEST(Registers, AreReadByName)
{
    qemu = {.registers = {{"rdi", 0x1000}, {"rcx", 3}, {"cr3", 0x5000}, {"cr4", 1 << 12}}};
    GuestState guest;
    guest.find_registers();
    EXPECT_EQ(guest.read(kRdi), 0x1000u);
    EXPECT_EQ(guest.address_of({.base = kRdi, .index = kRcx, .scale = 8, .displacement = -8}, 0),
              0x1010u);
    EXPECT_EQ(guest.paging().cr3, 0x5000u);
    EXPECT_TRUE(guest.paging().five_levels);
    EXPECT_EQ(guest.failed_reads(), 0u);
}

// A zero would pass for an address.
TEST(Registers, ThatQemuDoesNotGiveAreCountedAndGiveNoAddress)
{
    qemu = {.gives_registers = false, .registers = {{"rdi", 0x1000}}};
    GuestState guest;
    guest.find_registers();
    EXPECT_EQ(guest.read(kRdi), 0u);
    EXPECT_EQ(guest.failed_reads(), 1u);
    EXPECT_EQ(guest.address_of({.base = kRdi, .displacement = 64}, 0), std::nullopt);
    EXPECT_EQ(guest.failed_reads(), 2u);
    EXPECT_EQ(guest.address_of({.rip_relative = true, .displacement = 64}, 0x400000), 0x400040u)
        << "needs no register";
    EXPECT_EQ(guest.failed_reads(), 2u);
}

TEST(Translation, IsQemusOwnWhereItHasOne)
{
    qemu = {.gives_registers = false, .pages = {{0x7f001, 0x100005}}};
    GuestState guest;
    PhysicalMemory memory(guest);
    const auto found = memory.translate({}, 0x7f001040);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->present);
    EXPECT_EQ(found->physical, 0x100005040u);
    EXPECT_FALSE(found->writable) << "QEMU does not tell, so it must not be cached for stores";
    EXPECT_FALSE(memory.translate({}, 0x7f002000).value().present);
    EXPECT_EQ(qemu.translations, 2u);
    EXPECT_EQ(guest.failed_reads(), 0u);
}

// Page tables of four levels in memory that the kernel maps at kDirect.
class OtherTables : public testing::Test {
protected:
    static constexpr std::uint64_t kDirect = 0xffff'8880'0000'0000;
    static constexpr std::uint64_t kUser = 0x7f0000001000;
    static constexpr PagingState kHere = {0x1000, false};
    static constexpr std::uint64_t kThere = 0x8000;

    OtherTables()
    {
        qemu = {};
        guest_.find_registers();
        for (std::uint64_t page = 0; page < 16; ++page)
            for (std::uint64_t word = 0; word < 512; ++word)
                put(page * 0x1000 + word * 8, 0);
        for (const std::uint64_t tables : {kHere.cr3, kThere}) {
            put(tables + index(kDirect, 39), 0x2000 | kEntry);
            put(tables + index(~0ull, 39), 0x3000 | kEntry);
        }
        put(0x2000, 0x80 | kEntry); // 1 GiB at once
        put(kThere + index(kUser, 39), 0x9000 | kEntry);
        put(0x9000 + index(kUser, 30), 0xa000 | kEntry);
        put(0xa000 + index(kUser, 21), 0xb000 | kEntry);
        put(0xb000 + index(kUser, 12), 0x1'0000'5000 | kEntry);
    }
    static void put(std::uint64_t physical, std::uint64_t word)
    {
        qemu.words[kDirect + physical] = word;
    }
    static std::uint64_t index(std::uint64_t address, unsigned shift)
    {
        return (address >> shift & 0x1ff) * 8;
    }

    static constexpr std::uint64_t kEntry = 0x3; // present, writable
    GuestState guest_;
    PhysicalMemory memory_{guest_};
};

TEST_F(OtherTables, AreWalkedThroughTheDirectMap)
{
    const auto found = memory_.translate_by(kThere, kHere, kUser + 0x40);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->present);
    EXPECT_EQ(found->physical, 0x100005040u);
    EXPECT_FALSE(memory_.translate_by(kThere, kHere, kUser + 0x1000).value().present);
    EXPECT_EQ(qemu.translations, 0u) << "QEMU knows the current ones alone";
    put(kThere + index(kDirect, 39), 0x2000 | kEntry | 0x20); // the processor has used it
    EXPECT_TRUE(memory_.translate_by(kThere, kHere, kUser));
}

// A process that was killed is not seen to end, and its tables may be anything by now.
TEST_F(OtherTables, ThatAreNoneAnyMoreGiveNothing)
{
    put(kThere + index(~0ull, 39), 0x4000 | kEntry);
    EXPECT_FALSE(memory_.translate_by(kThere, kHere, kUser));
    EXPECT_FALSE(memory_.translate_by(0x100000, kHere, kUser)) << "cannot be read";
    EXPECT_FALSE(memory_.translate_by(kThere, {}, kUser));
}

} // namespace
} // namespace fencepost::tracer
