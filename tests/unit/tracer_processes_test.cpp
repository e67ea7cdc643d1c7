// SPDX-License-Identifier: GPL-2.0-or-later
// System calls, programs and call stacks, from made-up registers and memory.
#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/files.h"
#include "qemu-plugin/call_stacks.h"
#include "tests/unit/made_calls.h"
#include "trace/reader.h"

namespace fencepost::tracer {
namespace {

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

// Page tables are used again, and the same program makes its calls at the same places.
TEST_F(SystemCallsTest, OfAKilledProcessAreNotThoseOfTheNext)
{
    for (const std::uint64_t child : {77, 78}) {
        enter(kShell, SYS_fork);
        leave(kShell, child);
        EXPECT_EQ(leave(kChild, 0), "note 3000 0 0 fork; ");
        EXPECT_EQ(enter(kChild, SYS_read), "syscall_enter 3000 0 0 ; ") << child;
    }
    EXPECT_EQ(leave(kChild, 5), "syscall_exit 3000 0 5 ; ");
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

    std::uint32_t thread(std::uint64_t pc)
    {
        return stacks_.thread(cursor_, !is_kernel_address(pc));
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

TEST_F(CallStacksTest, NumberThreads)
{
    EXPECT_EQ(thread(0x300), 0u); // nothing is known yet
    EXPECT_EQ(thread(kKernelPc), 0u);
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    EXPECT_EQ(thread(0x300), 1u);
    stacks_.enter_user(cursor_, {0x1000, 2}, 0x9000); // no event of it: no number
    stacks_.enter_user(cursor_, {0x2000, 2}, 0x9000);
    EXPECT_EQ(thread(0x300), 2u);
    // In the kernel it is the one whose system call goes on, whichever task ran in between.
    stacks_.enter_kernel(cursor_, code(0x150), process_);
    EXPECT_EQ(thread(kKernelPc), 2u);
    stacks_.call(cursor_, kTask - 0x100, code(kKernelPc));
    EXPECT_EQ(thread(kKernelPc), 2u);
    stacks_.set_stack_pointer(cursor_, kOther - 0x80, false);
    EXPECT_EQ(thread(kKernelPc), 0u); // a kernel thread
    stacks_.set_stack_pointer(cursor_, kTask - 0x100, false);
    EXPECT_EQ(thread(kKernelPc), 2u);
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x6ff8);
    EXPECT_EQ(thread(0x300), 1u);
    // Page tables and thread-local storage are given to another one when they are free.
    stacks_.end_process(0x1000);
    EXPECT_EQ(thread(0x300), 1u); // its exit
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    EXPECT_EQ(thread(0x300), 3u);
    stacks_.end_thread(cursor_);
    stacks_.enter_user(cursor_, {0x1000, 1}, 0x7000);
    EXPECT_EQ(thread(0x300), 4u);
}

} // namespace
} // namespace fencepost::tracer
