// SPDX-License-Identifier: GPL-2.0-or-later
// What processes have mapped of which files: the same page through several mappings.
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "qemu-plugin/file_table.h"

namespace fencepost::tracer {
namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kSecond = 0x7f0000100000;
using Addresses = std::vector<std::uint64_t>;

TEST(SharedMappings, HaveAPageWhereverItIsMapped)
{
    SharedMappings mappings;
    mappings.map({kFirst, 0x3001}, {1, 0x8000}); // four pages
    mappings.map({kSecond, 0x2000}, {1, 0xa000});
    mappings.map({kSecond + 0x2000, 0x1000}, {2, 0x8000});
    EXPECT_EQ(mappings.at(kFirst + 0x2345), (FilePage{1, 0xa000}));
    EXPECT_EQ(mappings.at(kFirst + 0x3fff), (FilePage{1, 0xb000}));
    EXPECT_EQ(mappings.at(kFirst + 0x4000), std::nullopt);
    EXPECT_EQ(mappings.at(kFirst - 1), std::nullopt);
    EXPECT_EQ(mappings.addresses_of({1, 0xa000}), (Addresses{kFirst + 0x2000, kSecond}));
    EXPECT_EQ(mappings.addresses_of({1, 0x8000}), (Addresses{kFirst}));
    EXPECT_EQ(mappings.addresses_of({1, 0x7000}), Addresses{});
    EXPECT_EQ(mappings.addresses_of({1, 0xc000}), Addresses{});
}

TEST(SharedMappings, AreCutWhereAPartIsUnmapped)
{
    SharedMappings mappings;
    mappings.map({kFirst, 0x5000}, {1, 0});
    mappings.unmap({kFirst + 0x1000, 0x2000});
    EXPECT_EQ(mappings.at(kFirst), (FilePage{1, 0}));
    EXPECT_EQ(mappings.at(kFirst + 0x1000), std::nullopt);
    EXPECT_EQ(mappings.at(kFirst + 0x2fff), std::nullopt);
    EXPECT_EQ(mappings.at(kFirst + 0x3000), (FilePage{1, 0x3000}));
    EXPECT_EQ(mappings.at(kFirst + 0x4000), (FilePage{1, 0x4000}));
    mappings.map({kFirst + 0x4000, 0x1000}, {2, 0});
    EXPECT_EQ(mappings.at(kFirst + 0x3000), (FilePage{1, 0x3000}));
    EXPECT_EQ(mappings.at(kFirst + 0x4000), (FilePage{2, 0}));
    mappings.unmap({kFirst, 0});
    mappings.unmap({0, 0x1000});
    EXPECT_EQ(mappings.at(kFirst), (FilePage{1, 0}));
    mappings.unmap({kFirst + 0x3001, UINT64_MAX});
    EXPECT_EQ(mappings.at(kFirst + 0x3000), std::nullopt);
    EXPECT_EQ(mappings.at(kFirst), (FilePage{1, 0}));
}

TEST(AddressRanges, ThatSystemCallsGiveAnotherMeaning)
{
    const auto remapped = [](std::uint64_t call, std::array<std::uint64_t, 6> arguments) {
        std::string text;
        for (const AddressRange &range : remapped_by(call, arguments))
            if (range.length != 0)
                text += std::to_string(range.start) + "+" + std::to_string(range.length) + " ";
        return text;
    };
    EXPECT_EQ(remapped(SYS_munmap, {8, 9}), "8+9 ");
    EXPECT_EQ(remapped(SYS_mmap, {8, 9, 3, MAP_SHARED | MAP_FIXED}), "8+9 ");
    EXPECT_EQ(remapped(SYS_mmap, {8, 9, 3, MAP_SHARED}), "") << "8 is a hint";
    EXPECT_EQ(remapped(SYS_mremap, {8, 9, 10, MREMAP_MAYMOVE, 20}), "8+9 ");
    EXPECT_EQ(remapped(SYS_mremap, {8, 9, 10, MREMAP_MAYMOVE | MREMAP_FIXED, 20}), "8+9 20+10 ");
    EXPECT_EQ(remapped(SYS_shmat, {1, 8, SHM_REMAP}), "8+18446744073709551615 ");
    EXPECT_EQ(remapped(SYS_madvise, {8, 9}), "");
    EXPECT_EQ((AddressRange{UINT64_MAX - 4, 9}.end()), UINT64_MAX);
}

class FileTableTest : public testing::Test {
protected:
    void call(std::uint64_t number, std::array<std::uint64_t, 6> arguments, std::uint64_t result,
              std::uint64_t id = 0)
    {
        const FileTable::Call call = {number, arguments};
        table_.leave(call, table_.enter(call), result, "/mnt/pm/f", id);
    }
    void map(std::uint64_t at, std::uint64_t flags = MAP_SHARED, std::uint64_t offset = 0)
    {
        call(SYS_mmap, {0, 0x2000, PROT_WRITE, flags, 3, offset}, at);
    }
    std::uint64_t file_at(std::uint64_t address) const
    {
        return table_.shared().at(address).value_or(FilePage{}).file;
    }

    FileTable table_;
};

TEST_F(FileTableTest, KnowsWhichFileIsMapped)
{
    call(SYS_openat, {}, 3, 1);
    EXPECT_EQ(table_.path_of(3), "/mnt/pm/f");
    map(kFirst);
    map(kSecond, MAP_SHARED_VALIDATE, 0x1000);
    EXPECT_EQ(table_.shared().addresses_of({1, 0x1000}), (Addresses{kFirst + 0x1000, kSecond}));
    map(kSecond, MAP_PRIVATE);
    EXPECT_EQ(file_at(kSecond), 0u) << "another thing is there now, and not to be shared";
    map(kSecond, MAP_SHARED | MAP_ANONYMOUS);
    EXPECT_EQ(file_at(kSecond), 0u);
    call(SYS_mremap, {kFirst, 0x2000, 0x4000, MREMAP_MAYMOVE}, kSecond);
    EXPECT_EQ(file_at(kFirst), 0u);
    EXPECT_EQ(table_.shared().at(kSecond + 0x3000), (FilePage{1, 0x3000}));
    table_.enter({SYS_munmap, {kSecond, 0x1000}});
    EXPECT_EQ(file_at(kSecond), 0u) << "whether it succeeds or not";
    EXPECT_EQ(file_at(kSecond + 0x1000), 1u);
}

TEST_F(FileTableTest, DoesNotTrustADescriptorThatMayBeAnotherFile)
{
    const std::array<FileTable::Call, 5> calls = {{{SYS_close, {3}},
                                                   {SYS_close_range, {2, UINT32_MAX}},
                                                   {SYS_dup2, {5, 3}},
                                                   {SYS_unshare, {CLONE_FILES}},
                                                   {SYS_io_uring_setup, {}}}};
    for (const FileTable::Call &each : calls) {
        table_ = {};
        call(SYS_openat, {}, 3, 1);
        map(kFirst);
        table_.enter(each);
        map(kSecond);
        EXPECT_EQ(file_at(kFirst), 1u) << each.number << ": what is mapped stays";
        EXPECT_EQ(file_at(kSecond), 0u) << each.number;
    }
    call(SYS_openat, {}, 4, 2);
    call(SYS_mmap, {0, 0x2000, PROT_WRITE, MAP_SHARED, 4, 0}, kSecond);
    EXPECT_EQ(file_at(kSecond), 0u) << "io_uring may have closed it";
}

// Another thread closes the file while it is being mapped, and opens another.
TEST_F(FileTableTest, WantsTheSameFileFromEntryToReturn)
{
    call(SYS_openat, {}, 3, 1);
    const FileTable::Call mmap = {SYS_mmap, {0, 0x2000, PROT_WRITE, MAP_SHARED, 3, 0}};
    const FileTable::Entered entered = table_.enter(mmap);
    call(SYS_close, {3}, 0);
    call(SYS_openat, {}, 3, 2);
    table_.leave(mmap, entered, kFirst, "", 0);
    EXPECT_EQ(file_at(kFirst), 0u);
}

TEST_F(FileTableTest, AChildHasWhatItsParentHadAllTheTime)
{
    call(SYS_openat, {}, 3, 1);
    map(kFirst);
    map(kSecond);
    FileTable before = table_;
    table_.enter({SYS_munmap, {kSecond, 0x2000}});
    map(kSecond + 0x10000);
    call(SYS_close, {3}, 0);
    call(SYS_openat, {}, 3, 2);
    before.keep_common(table_);
    table_ = before;
    EXPECT_EQ(file_at(kFirst), 1u);
    EXPECT_EQ(file_at(kSecond), 0u);
    EXPECT_EQ(file_at(kSecond + 0x10000), 0u);
    EXPECT_EQ(table_.path_of(3), "");
}

} // namespace
} // namespace fencepost::tracer
