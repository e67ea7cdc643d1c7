// SPDX-License-Identifier: GPL-2.0-or-later
// Traces as text: every statement gives the rows it should, every mistake its place.
#include "tests/golden/trace_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "trace/reader.h"

namespace fencepost::golden {
namespace {

using namespace trace;

class TraceText : public testing::Test {
protected:
    TraceReader made(std::string_view text) const
    {
        write_trace(text, path());
        return TraceReader(path());
    }
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    static std::string rows(const TraceReader &reader, const std::string &sql)
    {
        std::string result;
        for (Statement row(reader.connection(), sql); row.step();)
            result.append(row.text(0)).append("\n");
        return result;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "trace_text"};
};

TEST_F(TraceText, EveryKindOfEvent)
{
    const TraceReader reader = made(R"(
region pmem0 4G 2M      # comment
region pmem1 8G 4K
let head = pmem1+0x40
store head 8 = 0x2a @a
v3 nt_store movdir pmem0 64 = *0x11
store pmem0+62 4 = "ab" atomic
nt_store pmem0 3 = hex:00ff7f
load 0x100000000 16
flush clwb head+8 @a+4 ^b<c
flush wbinvd
fence lock_rmw
op_begin 7 "rename \"x\"" (1, head) in 0x5000
syscall_exit 1 = -2
)");
    EXPECT_EQ(
        rows(reader,
             "SELECT kind||' '||subkind||' '||vcpu||' '||iif(address IS "
             "NULL,'-',printf('%x',address))||"
             "' '||coalesce(size,'-')||' '||iif(value IS NULL,'-',substr(hex(value),1,8))||' '||"
             "coalesce(site,'-')||' '||coalesce(stack,'-')||' '||atomic FROM event"),
        "store plain 0 200000040 8 2A000000 1 - 0\n"
        "nt_store movdir 3 100000000 64 11111111 - - 0\n"
        "store plain 0 10000003e 4 61620000 - - 1\n"
        "nt_store movnt 0 100000000 3 00FF7F - - 0\n"
        "load plain 0 100000000 16 - - - 0\n"
        "flush clwb 0 200000048 - - 2 2 0\n"
        "flush wbinvd 0 - - - - - 0\n"
        "fence lock_rmw 0 - - - - - 0\n"
        "marker op_begin 0 - - - - - 0\n"
        "marker syscall_exit 0 - - - - - 0\n");
    EXPECT_EQ(rows(reader,
                   "SELECT kind||' '||number||' '||result||' '||process||' '||arguments||text"
                   " FROM marker"),
              "op_begin 7 0 20480 [1,8589934656]rename \"x\"\nsyscall_exit 1 -2 0 []\n");
    EXPECT_EQ(
        rows(reader, "SELECT stack||' '||depth||' '||function FROM stack_line WHERE stack = 2"),
        "2 0 b\n2 1 c\n");
}

// Two threads of a process in the same call; the older traces do not number their calls.
TEST_F(TraceText, SystemCallsArePairedByTheirIds)
{
    const TraceReader reader = made(R"(
syscall_enter 18 (3, 0x5000, 10, 0, 0, 0, 1) "A" in 0x7000
syscall_enter 18 (4, 0x6000, 20, 0, 0, 0, 2) "B" in 0x7000
syscall_exit 18 (2) = 20 in 0x7000
syscall_exit 18 (1) = 10 in 0x7000
syscall_enter 18 (3, 0x5000, 10, 0, 0, 0, 3) in 0x7000
syscall_enter 18 (5) "old" in 0x8000
syscall_exit 18 = 5 in 0x8000
)");
    EXPECT_EQ(rows(reader, "SELECT first_seq||' '||coalesce(last_seq,'-')||' '||arguments||' '||"
                           "coalesce(result,'-')||text FROM system_call ORDER BY first_seq"),
              "0 3 [3,20480,10,0,0,0,1] 10A\n"
              "1 2 [4,24576,20,0,0,0,2] 20B\n"
              "4 - [3,20480,10,0,0,0,3] -\n"
              "5 6 [5] 5old\n");
}

TEST_F(TraceText, CodeHasNamesAndLines)
{
    const TraceReader reader = made(R"(
function commit module=/bin/db file=db.c user=0x7000
store pmem0 1 = 1 @commit:12
store pmem0 1 = 2 @commit+5:12
store pmem0 1 = 3 @other:9
store pmem0 1 = 4 @0x1234
store pmem0 1 = 5 @commit:12
)");
    EXPECT_EQ(
        rows(reader,
             "SELECT site||' '||function||' '||coalesce(offset,'-')||' '||module||' '||privilege||"
             "' '||coalesce(source_file||':'||source_line,'-') FROM site_name"),
        "1 commit 12 /bin/db user db.c:12\n"
        "2 commit 5 /bin/db user db.c:12\n"
        "3 other 9 kernel kernel -\n"
        "4 0x1234 -  kernel -\n");
    EXPECT_EQ(rows(reader, "SELECT site FROM event"), "1\n2\n3\n4\n1\n");
    EXPECT_EQ(rows(reader, "SELECT DISTINCT address_space FROM site WHERE privilege = 'user'"),
              "28672\n");
}

TEST_F(TraceText, TheRestOfTheFile)
{
    const TraceReader reader = made(R"(
initial pmem0+4 4 = 0x01020304
final pmem0 "abc"
meta spec "a\nb"
quality lost 3 error "it was lost"
volatile_flushes 9 @f
store pmem0 1 = 1
sync
store pmem0 1 = 2
recording truncated "killed"
)");
    EXPECT_EQ(reader.recording().state, RecordingState::truncated);
    EXPECT_EQ(reader.recording().outcome, "killed");
    EXPECT_EQ(reader.meta().at("spec"), "a\nb");
    EXPECT_EQ(rows(reader, "SELECT count(*) FROM event_block"), "2\n");
    EXPECT_EQ(rows(reader, "SELECT volatile_flushes FROM function_count WHERE function = 'f'"),
              "9\n");
    EXPECT_EQ(rows(reader, "SELECT name||value||severity||meaning FROM data_quality"),
              "lost3errorit was lost\n");
    const Region region = reader.regions().at(0);
    EXPECT_EQ(region.base, 4ull << 30);
    EXPECT_EQ(region.final_digest, "abc");
    std::vector<std::byte> bytes(region.size);
    reader.load_initial_image(region, bytes);
    EXPECT_EQ(bytes[3], std::byte{0});
    EXPECT_EQ(bytes[4], std::byte{4});
    EXPECT_EQ(bytes[7], std::byte{1});

    EXPECT_EQ(made("store pmem0 1 = 1\nrecording running\n").recording().state,
              RecordingState::running);
}

TEST_F(TraceText, MistakesAreToldWithTheirPlace)
{
    const std::pair<const char *, const char *> cases[] = {
        {"stroe pmem0 8 = 1", "x:1:1: there is no statement 'stroe'"},
        {"\n  store nowhere 8 = 1", "x:2:9: 'nowhere' is no address"},
        {"store pmem0 8", "x:1:14: '=' is missing"},
        {"store pmem0 65 = 1", "x:1:13: a store or load has 1 to 64 bytes"},
        {"store pmem0 1 = 256", "x:1:17: this does not fit into 1 bytes"},
        {"store pmem0 9 = 1", "x:1:17: this does not fit into 9 bytes"},
        {"store pmem0 2 = \"abc\"", "x:1:17: this does not fit into 2 bytes"},
        {"store pmem0 2 = hex:0g00", "x:1:17: hex: takes two hexadecimal digits a byte"},
        {"store pmem0+2M 1 = 1", "not in one region"},
        {"store pmem0 1 = 1 extra", "x:1:19: 'extra' is too much here"},
        {"flush clw pmem0", "x:1:7: 'clw' is none of clflush clflushopt clwb wbinvd wbnoinvd"},
        {"flush wbinvd pmem0", "x:1:14: 'pmem0' is too much here"},
        {"note \"no end", "x:1:6: the string has no end"},
        {"note \"\\q\"", "the escapes are"},
        {"fence sfence @f+5000", "give 'f+5000' an offset below that"},
        {"fence sfence @f:x", "'f:x' is no place in code"},
        {"v70000 fence sfence", "a vCPU is v0 to v65535"},
        {"v1 region r 4G 4K", "there is no statement 'region'"},
        {"region r 1 4K", "multiples of 4096"},
        {"region r 4G 4K\nregion r 5G 4K", "x:2:13: the name 'r' is taken"},
        {"function f\nfunction f", "x:2:10: function 'f' is known already"},
        {"quality a 1 bad \"x\"", "info, warning or error"},
        {"recording prepared", "running, complete or truncated"},
        {"volatile_flushes 1", "need a site"},
    };
    for (const auto &row : cases) {
        try {
            write_trace(row.first, path(), "x");
            ADD_FAILURE() << row.first;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(std::string(error.what()).find(row.second), std::string::npos)
                << row.first << ": " << error.what();
        }
    }
}

} // namespace
} // namespace fencepost::golden
