// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent notes while a workload runs, on directories of the host.
#include "guest-images/agent/observer.h"

#include <cstring>
#include <functional>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "guest-images/agent/observed_calls.h"
#include "guest-images/agent/observed_run.h"
#include "guest-images/agent/ops_executor.h"
#include "replayer/run/ops_parser.h"

namespace fencepost::agent {
namespace {

class Observing : public testing::Test {
protected:
    Observing()
    {
        plan_.root = directory_.path() / "root";
        make_directories(plan_.root);
    }

    std::string path(const std::string &name) const { return plan_.root + "/" + name; }
    std::string file() const { return directory_.path() / "observations"; }

    // In a process of its own, in the directory that is observed.
    std::vector<Observation> observe(const std::function<int(Observer &)> &workload)
    {
        const pid_t child = fork();
        if (child == 0) {
            Observer observer(plan_, file());
            _exit(chdir(plan_.root.c_str()) == 0 ? workload(observer) : 126);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        return read_observations(file());
    }
    std::vector<Observation> observe_ops(const std::string &text)
    {
        return observe([&](Observer &observer) {
            return execute_ops(run::parse_ops({text, "w.ops", 1}), &observer);
        });
    }

    TemporaryDirectory directory_{"/tmp", "fp-observer-"};
    ObservationPlan plan_;
};

TEST_F(Observing, WhatDoesNotFitIsSaid)
{
    plan_.limits.blocks = UINT32_MAX;
    Observer observer(plan_, file());
    observer.note({});
    // Blocks that are all different, more than fit.
    std::string bytes(kObservationsLimit, 'x');
    for (std::size_t at = 0; at < bytes.size(); at += kTreeBlock)
        std::memcpy(bytes.data() + at, &at, sizeof at);
    write_file(path("large"), bytes);
    observer.note({});
    write_file(path("large"), "");
    observer.note({});
    const std::vector<Observation> seen = read_observations(file());
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].moment, Moment::start);
    EXPECT_EQ(seen[1].moment, Moment::overflow);
}

struct Promise {
    Durable durable = Durable::nothing;
    TreeRange range = {};

    bool operator==(const Promise &) const = default;
};

void PrintTo(const Promise &promise, std::ostream *out)
{
    *out << static_cast<int>(promise.durable) << " of " << promise.range.offset << "+"
         << promise.range.length;
}

Promise promise_of(const Observation &observation)
{
    return {observation.durable, observation.range};
}

TEST_F(Observing, OpsHaveAnEnd)
{
    const std::vector<Observation> seen = observe_ops("mkdir d\nmkdir e\n");
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen[0].moment, Moment::start);
    EXPECT_EQ(seen[2].operation, 2u);
    EXPECT_EQ(seen[3].moment, Moment::end);
    EXPECT_EQ(seen[3].operation, 0u);
}

TEST_F(Observing, AnExchangeIsSeen)
{
    const std::vector<Observation> seen = observe_ops("mkdir d\nmkdir e\nrename d e exchange\n"
                                                      "rename d f\n");
    ASSERT_EQ(seen.size(), 6u);
    for (const std::size_t i : {1, 2, 3, 4})
        EXPECT_EQ(seen[i].exchanged, i == 3) << i;
    const std::string program = "import ctypes, os\n"
                                "os.mkdir('a')\nos.mkdir('b')\n"
                                "for flags in 2, 1:\n"
                                "  ctypes.CDLL(None).renameat2(-100, b'a', -100, b'b', flags)\n"
                                "os.rename('a', 'c')\n";
    std::vector<bool> exchanges;
    for (const Observation &each : observe([&](Observer &observer) {
             return run_observed({"/usr/bin/python3", "-I", "-B", "-c", program}, observer);
         }))
        if (each.call == SYS_renameat2 || each.call == SYS_rename)
            exchanges.push_back(each.exchanged);
    EXPECT_EQ(exchanges, (std::vector<bool>{true, false})) << "RENAME_NOREPLACE fails";
}

// mprotect can make a map writable that was made for reading, if the file was opened for writing.
TEST_F(Observing, AMapOfAFileThatIsOpenForWritingCounts)
{
    const std::string program = "import mmap, os\n"
                                "a = os.open('a', os.O_RDWR | os.O_CREAT)\n"
                                "os.ftruncate(a, 4096)\n"
                                "b = os.open('a', os.O_RDONLY)\n"
                                "for file in a, b:\n"
                                "  for kind in mmap.MAP_SHARED, mmap.MAP_PRIVATE:\n"
                                "    mmap.mmap(file, 4096, kind, mmap.PROT_READ)\n"
                                "mmap.mmap(a, 4096)\n";
    unsigned mapped = 0;
    for (const Observation &each : observe([&](Observer &observer) {
             return run_observed({"/usr/bin/python3", "-I", "-B", "-c", program}, observer);
         }))
        mapped += each.mapped;
    EXPECT_EQ(mapped, 2u) << "shared and open for writing: for reading, and for both";
}

TEST_F(Observing, CallsHaveASignature)
{
    const std::string program = "import os, threading\n"
                                "os.mkdir('a')\n"
                                "t = threading.Thread(target=lambda: os.mkdir('b'))\n"
                                "t.start()\nt.join()\n"
                                "if os.fork() == 0:\n"
                                "  os.rename('a', 'c')\n"
                                "  os.execv('/bin/mkdir', ['mkdir', 'd'])\n"
                                "os.wait()\n"
                                "f = os.open('f', os.O_RDWR | os.O_CREAT)\n"
                                "os.pwrite(f, b'xyz', 5)\n";
    std::string text;
    for (const Observation &each : observe([&](Observer &observer) {
             return run_observed({"/usr/bin/python3", "-I", "-B", "-c", program}, observer);
         })) {
        const CallSignature &seen = each.signature;
        if (each.same_tree || each.call < 0)
            continue;
        text += find_observed_call(each.call)->name + (" " + seen.paths);
        for (const std::size_t i : {1, 2})
            if (each.call == SYS_pwrite64)
                text += " " + std::to_string(seen.numbers.at(i));
        text += " by " + std::to_string(seen.process) + "." + std::to_string(seen.thread) + "\n";
    }
    // The program is a process of its own: what came before it, in the child that became it, made
    // no such call.
    EXPECT_EQ(text, "mkdir a by 1.1\n"
                    "mkdir b by 1.2\n"
                    "rename a -> c by 2.3\n"
                    "mkdir d by 3.3\n"
                    "openat f by 1.1\n"
                    "pwrite  3 5 by 1.1\n");
}

TEST_F(Observing, CallsThatReturnMeanwhileAreCounted)
{
    const std::string program = "import os, threading\n"
                                "os.mkfifo('p')\n"
                                "t = threading.Thread(target=lambda: os.open('p', os.O_WRONLY | "
                                "os.O_CREAT))\n"
                                "t.start()\n"
                                "where = '/proc/self/task/%d/syscall' % t.native_id\n"
                                "while not open(where).read().startswith('257 '): pass\n"
                                "os.mkdir('d')\n"
                                "os.open('p', os.O_RDONLY)\n"
                                "t.join()\n";
    std::string text;
    for (const Observation &each : observe([&](Observer &observer) {
             return run_observed({"/usr/bin/python3", "-I", "-B", "-c", program}, observer);
         }))
        if (!each.signature.paths.empty())
            text += each.signature.paths + (each.calls_meanwhile > 0 ? " overlaps\n" : " alone\n");
    EXPECT_EQ(text, "p alone\nd alone\np overlaps\n");
}

TEST_F(Observing, MsyncIsOfWholePages)
{
    const std::vector<Observation> seen = observe_ops("open a a rdwr|creat\n"
                                                      "ftruncate a 16384\n"
                                                      "map m a 4096 5000\n"
                                                      "store m 100 \"x\"\n"
                                                      "msync m 100 1\n"
                                                      "msync m 4000 1000\n"
                                                      "msync m 4096 904\n"
                                                      "msync m 0 0\n");
    ASSERT_EQ(seen.size(), 10u);
    EXPECT_EQ(promise_of(seen[5]), (Promise{Durable::file_data, {4096, 4096}}));
    EXPECT_EQ(promise_of(seen[6]), (Promise{Durable::file_data, {4096, 8192}}));
    EXPECT_EQ(promise_of(seen[7]), (Promise{Durable::file_data, {8192, 4096}})) << "the map's tail";
    EXPECT_EQ(seen[8].durable, Durable::nothing);
}

TEST_F(Observing, ASyncedWritePromisesTheBytesThatItWrote)
{
    const std::vector<Observation> seen = observe_ops("open a a rdwr|creat|sync\n"
                                                      "write a \"0123456789\"\n"
                                                      "pwrite a 4 \"xy\"\n"
                                                      "write a \"more\"\n"
                                                      "open b a wronly|append|dsync\n"
                                                      "write b \"abc\"\n"
                                                      "pwrite b 0 \"d\"\n"
                                                      "write b \"\"\n"
                                                      "open c a rdwr\n"
                                                      "write c \"z\"\n");
    ASSERT_EQ(seen.size(), 12u);
    EXPECT_EQ(promise_of(seen[2]), (Promise{Durable::file, {0, 10}}));
    EXPECT_EQ(promise_of(seen[3]), (Promise{Durable::file, {4, 2}}));
    EXPECT_EQ(promise_of(seen[4]), (Promise{Durable::file, {10, 4}}));
    EXPECT_EQ(promise_of(seen[6]), (Promise{Durable::file_data, {14, 3}}));
    EXPECT_EQ(promise_of(seen[7]), (Promise{Durable::file_data, {17, 1}})) << "appended";
    EXPECT_EQ(promise_of(seen[8]), Promise{}) << "nothing written, nothing synced";
    EXPECT_EQ(promise_of(seen[10]), Promise{});
}

TEST_F(Observing, ProgramsPromiseTheSame)
{
    const std::string program = "import os\n"
                                "a = os.open('a', os.O_RDWR | os.O_CREAT | os.O_SYNC)\n"
                                "os.write(a, b'0123456789')\n"
                                "os.pwrite(a, b'xy', 4)\n"
                                "b = os.open('a', os.O_WRONLY | os.O_APPEND | os.O_DSYNC)\n"
                                "os.write(b, b'abc')\n"
                                "c = os.open('a', os.O_WRONLY)\n"
                                "os.write(c, b'z')\n"
                                "os.pwritev(c, [b'z'], 5, os.RWF_SYNC)\n"
                                "os.pwritev(c, [b'zz'], 6, os.RWF_DSYNC)\n"
                                "os.pwritev(c, [b'z'], 7)\n";
    const std::vector<Observation> seen = observe([&](Observer &observer) {
        return run_observed({"/usr/bin/python3", "-I", "-B", "-c", program}, observer);
    });
    std::vector<Promise> promises;
    for (const Observation &each : seen)
        if (each.call == SYS_write || each.call == SYS_pwrite64 || each.call == SYS_pwritev ||
            each.call == SYS_pwritev2)
            promises.push_back(promise_of(each));
    EXPECT_EQ(promises, (std::vector<Promise>{{Durable::file, {0, 10}},
                                              {Durable::file, {4, 2}},
                                              {Durable::file_data, {10, 3}},
                                              {},
                                              {Durable::file, {5, 1}},
                                              {Durable::file_data, {6, 2}},
                                              {}}));
}

} // namespace
} // namespace fencepost::agent
