// SPDX-License-Identifier: GPL-2.0-or-later
// System calls, programs and call stacks, from made-up registers and memory.
#include <cstring>
#include <map>

#include <elf.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/auxvec.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/files.h"
#include "qemu-plugin/call_stacks.h"
#include "qemu-plugin/system_calls.h"
#include "trace/reader.h"

namespace fencepost::tracer {
namespace {

using trace::MarkerKind;

class FakeMemory : public GuestMemory {
public:
    std::optional<std::string> read_bytes(std::uint64_t address, std::size_t length) override
    {
        std::string bytes;
        for (std::size_t i = 0; i < length; ++i) {
            const auto page = pages_.find((address + i) / 4096);
            if (page == pages_.end())
                return std::nullopt;
            bytes += page->second[(address + i) % 4096];
        }
        return bytes;
    }
    void put(std::uint64_t address, const void *data, std::size_t length)
    {
        for (std::size_t i = 0; i < length; ++i) {
            std::string &page = pages_.try_emplace((address + i) / 4096, 4096, '\0').first->second;
            page[(address + i) % 4096] = static_cast<const char *>(data)[i];
        }
    }
    void put_text(std::uint64_t address, const std::string &text)
    {
        put(address, text.c_str(), text.size() + 1);
    }
    void put_words(std::uint64_t address, const std::vector<std::uint64_t> &words)
    {
        put(address, words.data(), words.size() * 8);
    }

private:
    std::map<std::uint64_t, std::string> pages_;
};

class SystemCallsTest : public testing::Test {
protected:
    static constexpr std::uint64_t kAgent = 0x1000;
    static constexpr std::uint64_t kShell = 0x2000;
    static constexpr std::uint64_t kChild = 0x3000;
    static constexpr std::uint64_t kStack = 0x7ffd0000;
    static constexpr std::uint64_t kPc = 0x401000;

    SystemCallsTest() { calls_.switch_on(kAgent); }

    std::string enter(std::uint64_t space, std::uint64_t number,
                      std::array<std::uint64_t, 6> arguments = {}, std::uint64_t stack = kStack)
    {
        return told(calls_.enter({space, kPc, stack, number, arguments}));
    }
    std::string leave(std::uint64_t space, std::uint64_t result, std::uint64_t stack = kStack)
    {
        return told(calls_.leave({space, kPc, stack, result, false}));
    }
    static std::string told(const std::vector<NewMarker> &markers)
    {
        std::string text;
        for (const NewMarker &marker : markers)
            text += fmt::format("{} {:x} {} {} {}; ", trace::name_of(marker.kind),
                                marker.marker.process, marker.marker.number, marker.marker.result,
                                marker.marker.text);
        return text;
    }
    // A program without an interpreter whose stack is at kStack.
    void put_program(std::uint64_t headers, std::uint64_t entry)
    {
        memory_.put_text(0x5000, "/bin/program");
        memory_.put_words(kStack, {1, 0x5000, 0, 0x5000, 0, AT_PHDR, headers, AT_PHNUM, 3, AT_ENTRY,
                                   entry, AT_EXECFN, 0x5000, AT_NULL, 0});
    }

    FakeMemory memory_;
    Processes processes_;
    SystemCalls calls_{memory_, processes_};
};

TEST_F(SystemCallsTest, PairEntryAndReturnOfTheSameThread)
{
    memory_.put_text(0x6ffa, "/mnt/pm/old"); // across a page
    memory_.put_text(0x8000, "new");
    EXPECT_EQ(enter(kShell, SYS_rename, {0x6ffa, 0x8000}),
              "syscall_enter 2000 82 0 /mnt/pm/old -> new; ");
    // Another thread, another process, an interrupt: none of them is its return.
    EXPECT_EQ(leave(kShell, 1, kStack - 64), "");
    EXPECT_EQ(leave(kChild, 2), "");
    EXPECT_EQ(leave(kShell, static_cast<std::uint64_t>(-2)), "syscall_exit 2000 82 -2 ; ");
    EXPECT_EQ(leave(kShell, 0), "");
}

// Two threads in the same call: which of them returns is known by its stack, and told by an id.
TEST_F(SystemCallsTest, GiveAnEntryAndItsReturnTheSameId)
{
    const auto id = [](const std::vector<NewMarker> &markers) {
        return markers.size() == 1 ? trace::call_id(markers[0].kind, markers[0].marker) : 0;
    };
    constexpr std::uint64_t kOtherStack = kStack - 0x100000;
    const auto first = id(calls_.enter({kShell, kPc, kStack, SYS_pwrite64, {3, 0x5000, 10, 0}}));
    const auto &entry = calls_.enter({kShell, kPc, kOtherStack, SYS_pwrite64, {4, 0x6000}});
    EXPECT_EQ(entry[0].marker.arguments, (std::vector<std::uint64_t>{4, 0x6000, 0, 0, 0, 0, 2}));
    EXPECT_EQ(first, 1u);
    EXPECT_EQ(id(calls_.leave({kShell, kPc, kStack, 10, false})), 1u);
    EXPECT_EQ(id(calls_.leave({kShell, kPc, kOtherStack, 10, false})), 2u);
}

TEST_F(SystemCallsTest, LeaveOutTheCallerAndTellARestartFromACall)
{
    EXPECT_EQ(enter(kAgent, SYS_getpid), "");
    EXPECT_EQ(leave(kAgent, 1), "");
    EXPECT_EQ(enter(kShell, SYS_read), "syscall_enter 2000 0 0 ; ");
    EXPECT_EQ(enter(kShell, SYS_read), "");
    EXPECT_EQ(leave(kShell, 5), "syscall_exit 2000 0 5 ; ");
    EXPECT_EQ(enter(kShell, SYS_exit_group, {0x103}),
              "syscall_enter 2000 231 0 ; process_end 2000 0 3 ; ");
}

TEST_F(SystemCallsTest, TellAPathThatWasNotInMemoryWhenTheCallReturns)
{
    EXPECT_EQ(enter(kShell, SYS_mkdir, {0x9000}), "syscall_enter 2000 83 0 ; ");
    memory_.put_text(0x9000, "/late");
    EXPECT_EQ(leave(kShell, 0), "syscall_exit 2000 83 0 /late; ");
}

TEST_F(SystemCallsTest, FollowForkExecAndMappings)
{
    EXPECT_EQ(enter(kShell, SYS_fork), "syscall_enter 2000 57 0 ; ");
    EXPECT_EQ(leave(kShell, 77), "syscall_exit 2000 57 77 ; ");
    EXPECT_EQ(leave(kChild, 0), "note 3000 0 0 fork; "); // after its parent
    EXPECT_TRUE(calls_.take_process_change());

    put_program(0x400040, kPc);
    EXPECT_EQ(enter(kChild, SYS_execve, {0x5000}), "syscall_enter 3000 59 0 /bin/program; ");
    // An interrupt's return, with the same page tables as the caller: not a program's start.
    EXPECT_EQ(told(calls_.leave({kChild, 0x1234, kStack - 8, 0, true})), "");
    EXPECT_EQ(told(calls_.leave({0x4000, kPc, kStack, 0, true})),
              "process_start 4000 0 0 /bin/program; ");

    // Once the headers are in memory, the next system call finds out where the program is.
    Elf64_Phdr headers[3] = {};
    headers[0].p_type = PT_PHDR;
    headers[0].p_vaddr = 0x400040;
    headers[1].p_type = PT_LOAD;
    headers[1].p_flags = PF_X | PF_R;
    headers[1].p_vaddr = 0x401000;
    headers[1].p_offset = 0x1000;
    headers[1].p_memsz = 0x500;
    headers[2].p_type = PT_LOAD; // data
    headers[2].p_flags = PF_R | PF_W;
    headers[2].p_vaddr = 0x402000;
    headers[2].p_memsz = 0x1000;
    memory_.put(0x400040, headers, sizeof headers);
    memory_.put_text(0xa000, "/lib/libx.so");
    EXPECT_EQ(enter(0x4000, SYS_openat, {0, 0xa000}),
              "note 4000 0 0 map /bin/program; syscall_enter 4000 257 0 /lib/libx.so; ");
    EXPECT_EQ(leave(0x4000, 3), "syscall_exit 4000 257 3 ; ");
    enter(0x4000, SYS_mmap, {0, 0x2000, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3, 0x1000});
    EXPECT_EQ(leave(0x4000, 0x7f0000000000),
              "syscall_exit 4000 9 139637976727552 ; note 4000 0 0 map /lib/libx.so; ");
    EXPECT_EQ(processes_.in(0x4000).module_at(0x401234), "/bin/program");
    EXPECT_EQ(processes_.in(0x4000).module_at(0x402010), "");
    EXPECT_EQ(processes_.in(0x4000).module_at(0x7f0000001fff), "/lib/libx.so");
    EXPECT_EQ(processes_.in(0x4000).module_at(0x7f0000002000), "");
}

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
    leave(0x4000, 0);
    leave(0x5000, 0);
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

TEST_F(SystemCallsTest, SurviveAStackThatIsNoStack)
{
    memory_.put_words(kStack, {UINT64_MAX, 1, 2, 3});
    enter(kShell, SYS_execve);
    EXPECT_EQ(told(calls_.leave({0x4000, kPc, kStack, 0, true})), "");
    EXPECT_EQ(told(calls_.leave({0x4000, kPc, UINT64_MAX - 7, 0, true})), "");
}

class CallStacksTest : public testing::Test {
protected:
    CodePoint &code(std::uint64_t pc)
    {
        const std::vector<std::uint8_t> call = {0xe8, 0, 0, 0, 0};
        return codes_.at(pc, call, Decoder().decode(call));
    }

    // The callers' addresses, innermost first.
    std::vector<std::uint64_t> chain(std::uint64_t pc)
    {
        const bool user = !is_kernel_address(pc);
        trace::StackId at =
            stacks_.current(cursor_, code(pc), user ? process_ : processes_.kernel());
        std::vector<std::uint64_t> callers;
        while (at != 0) {
            const trace::Stack &stack = queue_.current().stacks.at(at - 1);
            callers.push_back(queue_.current().stack_frames.at(stack.frame - 1).pc);
            at = stack.parent;
        }
        return callers;
    }

    TemporaryDirectory directory_{"/tmp", "fp-stacks-"};
    EventQueue queue_{trace::TraceWriter::create(directory_.path() / "trace.db")};
    Processes processes_;
    Process &process_ = processes_.in(0x1000);
    CodeMap codes_;
    CallStacks stacks_{queue_};
    CallStacks::Cursor cursor_;
};

using Chain = std::vector<std::uint64_t>;
constexpr std::uint64_t kKernelPc = 0xffffffff81000000;
constexpr std::uint64_t kTask = 0xffffc90000004000;  // top of one kernel stack
constexpr std::uint64_t kOther = 0xffffc90000008000; // and of another

TEST_F(CallStacksTest, FollowCallsAndReturns)
{
    EXPECT_EQ(chain(0x300), Chain{}); // nothing is known of this thread yet
    stacks_.enter_user(cursor_, {0x1000, 0}, 0x7000);
    stacks_.call(cursor_, 0x6ff8, code(0x100));
    stacks_.call(cursor_, 0x6fe0, code(0x200));
    EXPECT_EQ(chain(0x300), (Chain{0x200, 0x100}));
    stacks_.ret(cursor_, 0x6fe0, true);
    EXPECT_EQ(chain(0x300), (Chain{0x100}));
    stacks_.call(cursor_, 0x6fe0, code(0x210));
    EXPECT_EQ(chain(0x300), (Chain{0x210, 0x100}));
    // The program sets up thread-local storage and is still the same thread.
    stacks_.enter_user(cursor_, {0x1000, 0x5550}, 0x6fe0);
    EXPECT_EQ(chain(0x300), (Chain{0x210, 0x100}));
    EXPECT_EQ(queue_.current().stacks.size(), 3u); // shared where they are the same
}

TEST_F(CallStacksTest, ForgetWhatLongjmpLeft)
{
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    for (std::uint64_t depth = 0; depth < 5; ++depth)
        stacks_.call(cursor_, 0x6ff8 - depth * 16, code(0x100 + depth));
    stacks_.set_stack_pointer(cursor_, 0x6ff0, true);
    EXPECT_EQ(chain(0x300), (Chain{0x100}));
    stacks_.ret(cursor_, 0x6ff8, true);
    EXPECT_EQ(chain(0x300), (Chain{}));
}

TEST_F(CallStacksTest, KeepKernelStacksApartAndContinueTheUsers)
{
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    stacks_.call(cursor_, 0x6ff8, code(0x100));
    stacks_.enter_kernel(cursor_, code(0x150), process_);
    stacks_.call(cursor_, kTask - 0x100, code(kKernelPc));
    stacks_.call(cursor_, kTask - 0x200, code(kKernelPc + 1));
    EXPECT_EQ(chain(kKernelPc + 9), (Chain{kKernelPc + 1, kKernelPc, 0x150, 0x100}));
    // Another task gets the processor, then this one again.
    stacks_.set_stack_pointer(cursor_, kOther - 0x80, false);
    EXPECT_EQ(chain(kKernelPc + 9), (Chain{}));
    stacks_.call(cursor_, kOther - 0x88, code(kKernelPc + 2));
    EXPECT_EQ(chain(kKernelPc + 9), (Chain{kKernelPc + 2}));
    stacks_.set_stack_pointer(cursor_, kTask - 0x200, false);
    EXPECT_EQ(chain(kKernelPc + 9), (Chain{kKernelPc + 1, kKernelPc, 0x150, 0x100}));
    // A page fault from user code has no system call below it.
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x6ff8);
    stacks_.call(cursor_, kTask - 0x100, code(kKernelPc + 3));
    EXPECT_EQ(chain(kKernelPc + 9), (Chain{kKernelPc + 3}));
    EXPECT_EQ(chain(0x300), (Chain{0x100}));
}

TEST_F(CallStacksTest, TellThreadsApart)
{
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    stacks_.call(cursor_, 0x6ff8, code(0x100));
    stacks_.enter_user(cursor_, {0x1000, 2}, 0x9000);
    EXPECT_EQ(chain(0x300), (Chain{}));
    stacks_.call(cursor_, 0x8ff8, code(0x200));
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x6ff8);
    EXPECT_EQ(chain(0x300), (Chain{0x100}));
    stacks_.end_process(0x1000);
    EXPECT_EQ(chain(0x300), (Chain{}));
}

} // namespace
} // namespace fencepost::tracer
