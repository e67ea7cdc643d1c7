// SPDX-License-Identifier: GPL-2.0-or-later
// Which processes have the same page of a file mapped, from made-up system calls.
#include <algorithm>

#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/unit/made_calls.h"

namespace fencepost::tracer {
namespace {

class SharedFileTest : public SystemCallsTest {
protected:
    static constexpr std::uint64_t kMapped = 0x7f0000000000;

    void open_and_map(std::uint64_t space, std::uint64_t at = kMapped)
    {
        enter(space, SYS_openat);
        leave(space, 3);
        enter(space, SYS_mmap, {0, 0x2000, PROT_WRITE, MAP_SHARED, 3, 0});
        leave(space, at);
    }
    std::optional<FilePage> page_at(std::uint64_t space, std::uint64_t address = kMapped)
    {
        return processes_.in(space).files.shared().at(address);
    }
    bool lives(std::uint64_t space)
    {
        const auto living = processes_.living();
        return std::any_of(living.begin(), living.end(),
                           [&](const Process *process) { return process->address_space == space; });
    }
};

TEST_F(SharedFileTest, ChildrenShareWhatTheirParentHasMapped)
{
    open_and_map(kShell);
    enter(kShell, SYS_fork);
    leave(kChild, 0);
    leave(kShell, 77);
    ASSERT_TRUE(page_at(kShell));
    EXPECT_EQ(page_at(kChild), page_at(kShell));
    // What each of them opens is another file.
    open_and_map(kShell);
    open_and_map(kChild);
    EXPECT_NE(page_at(kChild), page_at(kShell));
    // A child that begins when its parent has already put something else there.
    enter(kShell, SYS_fork);
    leave(kShell, 78);
    open_and_map(kShell);
    leave(0x4000, 0);
    EXPECT_FALSE(page_at(0x4000));
}

// Two processes of one program call fork at the same place: whose child is it?
TEST_F(SharedFileTest, AChildOfWhoKnowsWhomSharesNothing)
{
    open_and_map(kShell);
    open_and_map(kChild);
    enter(kShell, SYS_fork);
    enter(kChild, SYS_fork);
    leave(0x4000, 0);
    EXPECT_FALSE(page_at(0x4000));
    leave(0x5000, 0);
    EXPECT_TRUE(page_at(0x5000));
}

TEST_F(SharedFileTest, ChildrenOfOneParentMayBeginLate)
{
    open_and_map(kShell);
    for (const std::uint64_t child : {77, 78}) {
        enter(kShell, SYS_fork);
        leave(kShell, child);
    }
    EXPECT_EQ(leave(0x4000, 0), "note 4000 0 0 fork; ");
    EXPECT_EQ(leave(0x4000, 0), "") << "from a page fault";
    EXPECT_EQ(leave(0x5000, 0), "note 5000 0 0 fork; ");
    EXPECT_EQ(page_at(0x4000), page_at(kShell));
    EXPECT_EQ(page_at(0x5000), page_at(kShell));
}

TEST_F(SharedFileTest, PageTablesOfAProcessThatEndsAreNotReliedOn)
{
    open_and_map(kShell);
    EXPECT_TRUE(lives(kShell));
    enter(kShell, SYS_execve, {0x5000});
    EXPECT_FALSE(lives(kShell));
    leave(kShell, static_cast<std::uint64_t>(-2));
    EXPECT_TRUE(lives(kShell)) << "there is no such program";
    enter(kShell, SYS_exit);
    EXPECT_FALSE(lives(kShell));
    enter(kShell, SYS_getpid, {}, kStack - 0x1000);
    EXPECT_TRUE(lives(kShell)) << "it was one thread of several";
    enter(kShell, SYS_exit_group);
    EXPECT_FALSE(lives(kShell));
}

TEST_F(SharedFileTest, AChildOfVforkEndsNothingAndOpensItsOwnFiles)
{
    open_and_map(kShell);
    enter(kShell, SYS_vfork);
    leave(kShell, 0);
    constexpr std::uint64_t kDeeper = kStack - 64;
    enter(kShell, SYS_openat, {}, kDeeper);
    leave(kShell, 4, kDeeper);
    enter(kShell, SYS_execve, {0x5000}, kDeeper);
    EXPECT_TRUE(lives(kShell));
    EXPECT_FALSE(calls_.ends_mappings({kShell, kPc, kDeeper, SYS_exit_group, {}}));
    leave(kShell, 78);
    EXPECT_TRUE(calls_.ends_mappings({kShell, kPc, kDeeper, SYS_exit_group, {}}));
    EXPECT_TRUE(page_at(kShell));
    enter(kShell, SYS_mmap, {0, 0x2000, PROT_WRITE, MAP_SHARED, 4, 0});
    leave(kShell, kMapped + 0x10000);
    EXPECT_FALSE(page_at(kShell, kMapped + 0x10000)) << "its 4 is another file, or none";
}

TEST_F(SharedFileTest, NothingIsKnownAfterAPauseInTheRecordingOfCalls)
{
    open_and_map(kShell);
    calls_.switch_off();
    EXPECT_FALSE(page_at(kShell));
}

} // namespace
} // namespace fencepost::tracer
