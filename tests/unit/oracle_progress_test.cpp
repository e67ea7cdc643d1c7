// SPDX-License-Identifier: GPL-2.0-or-later
// How far a workload was: what a recovery command is told, and which system calls are operations.
#include "replayer/oracle/progress.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "base/files.h"
#include "replayer/oracle/traced_calls.h"
#include "tests/golden/trace_text.h"
#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

class ProgressTest : public testing::Test {
protected:
    const trace::TraceReader &read(const std::string &text)
    {
        golden::write_trace(text, directory_.path() / "trace.db");
        reader_ = std::make_unique<trace::TraceReader>(directory_.path() / "trace.db");
        return *reader_;
    }
    static std::string told(const ProgressTable &table, std::uint64_t seq)
    {
        std::string text;
        for (const std::string &each : recovery_environment(&table.at(seq), true))
            text += (text.empty() ? "" : ";") + each.substr(std::string("FENCEPOST_").size());
        return text;
    }

    TemporaryDirectory directory_{"/tmp", "fp-progress-"};
    std::unique_ptr<trace::TraceReader> reader_;
};

TEST_F(ProgressTest, OperationsThatReturnedAndThoseInProgress)
{
    const ProgressTable table(read("op_begin 1 \"write a\"\n"
                                   "op_end 1\n"
                                   "checkpoint 7 \"half\"\n"
                                   "op_begin 2 \"sync\"\n"
                                   "op_begin 3 \"rename a b\"\n"
                                   "op_end 2\n"));
    const std::string nothing = "CRASHED=1;RETURNED=;RETURNED_TEXT=;IN_PROGRESS=;IN_PROGRESS_TEXT=;"
                                "CHECKPOINT=;CHECKPOINT_TEXT=";
    EXPECT_EQ(told(table, 0), nothing) << "its begin did not happen";
    EXPECT_EQ(told(table, 1), "CRASHED=1;RETURNED=;RETURNED_TEXT=;IN_PROGRESS=1;IN_PROGRESS_TEXT="
                              "write a;CHECKPOINT=;CHECKPOINT_TEXT=");
    EXPECT_EQ(told(table, 2), "CRASHED=1;RETURNED=1;RETURNED_TEXT=write a;IN_PROGRESS=;IN_PROGRESS_"
                              "TEXT=;CHECKPOINT=;CHECKPOINT_TEXT=");
    EXPECT_EQ(told(table, 5),
              "CRASHED=1;RETURNED=1;RETURNED_TEXT=write a;IN_PROGRESS=2 3;IN_PROGRESS_TEXT=sync\n"
              "rename a b;CHECKPOINT=7;CHECKPOINT_TEXT=half");
    EXPECT_EQ(told(table, UINT64_MAX),
              "CRASHED=1;RETURNED=2;RETURNED_TEXT=sync;IN_PROGRESS=3;IN_PROGRESS_TEXT=rename a b;"
              "CHECKPOINT=7;CHECKPOINT_TEXT=half");
    EXPECT_EQ(table.number_at(3), table.number_at(3));
    EXPECT_NE(table.number_at(2), table.number_at(3)) << "the checkpoint is passed";
}

TEST_F(ProgressTest, OfAProgramWithoutMarkersItsSystemCalls)
{
    const ProgressTable table(read("syscall_enter 83 \"early\" in 0x1000\n"
                                   "process_start \"/bin/p\" in 0x2000\n"
                                   "syscall_enter 83 \"d\" in 0x2000\n"
                                   "syscall_exit 83 = 0 in 0x2000\n"
                                   "syscall_enter 39 in 0x2000\n"
                                   "syscall_exit 39 = 5 in 0x2000\n"));
    EXPECT_EQ(table.at(2).returned.has_value(), false);
    ASSERT_EQ(table.at(3).in_progress.size(), 1u);
    EXPECT_EQ(table.at(3).in_progress[0].text, "mkdir d");
    EXPECT_EQ(table.at(3).in_progress[0].number, 1);
    EXPECT_EQ(table.at(UINT64_MAX).returned->text, "mkdir d") << "getpid changes nothing";
}

TEST_F(ProgressTest, TellsThreadsOfAProcessApart)
{
    // Each call's id is behind its six arguments, and in its return.
    const ProgressTable table(
        read("process_start \"/bin/p\" in 0x7000\n"
             "syscall_enter 18 (3, 0x5000, 10, 0, 0, 0, 8) \"A\" in 0x7000\n"
             "v1 syscall_enter 18 (4, 0x6000, 10, 0, 0, 0, 9) \"B\" in 0x7000\n"
             "syscall_enter 202 (0, 0, 0, 0, 0, 0, 10) in 0x7000\n"
             "syscall_exit 18 (8) = 10 in 0x7000\n"
             "syscall_enter 18 (3, 0x5000, 10, 0, 0, 0, 11) \"C\" in 0x7000\n"
             "v1 syscall_exit 18 (9) = 10 in 0x7000\n"));
    const auto steps = [&](std::uint64_t seq) {
        const Progress &progress = table.at(seq);
        std::string text = progress.returned ? progress.returned->text : "nothing";
        for (const ProgressStep &step : progress.in_progress)
            text += fmt::format(", {} {}", step.number, step.text);
        return text;
    };
    EXPECT_EQ(steps(2), "nothing, 1 pwrite A");
    EXPECT_EQ(steps(4), "nothing, 1 pwrite A, 2 pwrite B");
    EXPECT_EQ(steps(5), "pwrite A, 2 pwrite B") << "A has returned, B has not";
    EXPECT_EQ(steps(6), "pwrite A, 2 pwrite B, 3 pwrite C");
    EXPECT_EQ(steps(7), "pwrite B, 3 pwrite C");
}

TEST_F(ProgressTest, ProcessesNumberTheirOperationsByThemselves)
{
    const ProgressTable table(read("op_begin 1 \"of one\" in 0x2000\n"
                                   "op_begin 1 \"of the other\" in 0x3000\n"
                                   "op_end 1 in 0x3000\n"));
    EXPECT_EQ(table.at(3).returned->text, "of the other");
    ASSERT_EQ(table.at(3).in_progress.size(), 1u);
    EXPECT_EQ(table.at(3).in_progress[0].text, "of one");
}

TEST_F(ProgressTest, ACommandThatDoesNotAskIsNotTold)
{
    EXPECT_EQ(recovery_environment(nullptr, false),
              std::vector<std::string>{"FENCEPOST_CRASHED=0"});
    run::Inputs inputs;
    EXPECT_FALSE(wants_progress(inputs));
    inputs.test.recovery = {"/bin/check", "--all"};
    EXPECT_FALSE(wants_progress(inputs));
    inputs.workload.files.push_back({"/bin/check", 0755, "x getenv FENCEPOST_RETURNED x"});
    EXPECT_TRUE(wants_progress(inputs)) << "a program with that text";
    inputs.test.recovery_progress = false;
    EXPECT_FALSE(wants_progress(inputs));
    inputs.workload.files.clear();
    inputs.test.recovery_progress.reset();
    inputs.test.recovery = {"/bin/sh", "-c", "test \"$FENCEPOST_CHECKPOINT\" = 1"};
    EXPECT_TRUE(wants_progress(inputs));
    inputs.test.recovery = {"/bin/sh", "-c", "exit $FENCEPOST_CRASHED"};
    EXPECT_FALSE(wants_progress(inputs)) << "that is the same at every crash point";
}

// A script with one command that makes two calls, in two processes; the process that sets its
// markers makes calls of its own.
class ScriptCalls : public ProgressTest {
protected:
    ScriptCalls()
    {
        past_.then(root({directory("d", 20)})).then(root({directory("d", 20), file("f", 12, "")}));
        past_.then(root({directory("d", 20), file("f", 12, "")}));
        for (const std::size_t i : {1, 2}) {
            TreeState &state = past_.history.states[i];
            state.moment = agent::Moment::system_call;
            state.operation = 1;
            state.call_ordinal = static_cast<std::uint32_t>(i + 1); // the first goes to the pipe
            state.call = i == 1 ? SYS_mkdir : SYS_openat;
        }
        past_.history.states[3].operation = 1;
    }

    Past past_;
    const std::string trace_ = "process_start \"/bin/sh\" in 0x2000\n"       // 0
                               "syscall_enter 1 in 0x2000\n"                 // 1
                               "syscall_enter 1 in 0x9000\n"                 // 2
                               "syscall_exit 1 = 1 in 0x9000\n"              // 3
                               "op_begin 1 \"mkdir d; touch f\" in 0x9000\n" // 4
                               "syscall_exit 1 = 4 in 0x2000\n"              // 5
                               "note \"fork\" (0x2000) in 0x3000\n"          // 6
                               "syscall_enter 83 \"d\" in 0x3000\n"          // 7
                               "syscall_exit 83 = 0 in 0x3000\n"             // 8
                               "syscall_enter 257 \"f\" in 0x2000\n"         // 9
                               "syscall_exit 257 = 7 in 0x2000\n"            // 10
                               "op_end 1 = 0 in 0x9000\n";                   // 11
};

TEST_F(ScriptCalls, AreOperations)
{
    const LegalTrees legal(past_.history, traced_calls(read(trace_), past_.history, true));
    const auto span = [&](std::uint64_t seq) {
        const OperationSpan found = legal.span_at(seq);
        return std::pair(found.returned, found.begun);
    };
    EXPECT_EQ(span(7), std::pair(0ul, 0ul));
    EXPECT_EQ(span(8), std::pair(0ul, 1ul)) << "mkdir is in progress, open has not begun";
    EXPECT_EQ(span(9), std::pair(1ul, 1ul)) << "mkdir has returned, its command has not ended";
    EXPECT_EQ(span(10), std::pair(1ul, 2ul));
    EXPECT_EQ(span(11), std::pair(2ul, 2ul));
    EXPECT_EQ(span(12), std::pair(3ul, 3ul));
    EXPECT_EQ(legal.operation_of(1), "mkdir d (in: mkdir d; touch f)");
    EXPECT_EQ(legal.operation_of(2), "openat f (in: mkdir d; touch f)");
}

// A program may store to a map, or make a call that is not looked at, and end.
TEST_F(ProgressTest, WhatAProgramDoesAfterItsLastCallIsLegal)
{
    agent::Observation start;
    start.same_tree = false;
    start.tree = dump(root());
    agent::Observation call = start;
    call.moment = agent::Moment::system_call;
    call.call = SYS_mkdir;
    call.call_ordinal = 1;
    call.tree = dump(root({directory("d", 20)}));
    agent::Observation end = start;
    end.moment = agent::Moment::end;
    end.tree = dump(root({directory("d", 20), directory("e", 21)}));
    run::Inputs inputs;
    inputs.workload.steps.emplace_back();
    const auto spans = [&](const char *next) {
        const trace::TraceReader &reader =
            read(std::string("note \"step: workload\"\n"            // 0
                             "process_start \"/bin/p\" in 0x2000\n" // 1
                             "syscall_enter 83 \"d\" in 0x2000\n"   // 2
                             "syscall_exit 83 = 0 in 0x2000\n"      // 3
                             "store pmem0 8 = 1\n") +               // 4
                 next);                                             // 5
        const LegalTrees legal =
            find_legal_trees(reader, inputs, {{start, call, end}, {start, call, end}}, {});
        std::string text;
        for (const std::uint64_t seq : {2, 3, 4, 5, 6})
            text += fmt::format("{}-{} ", legal.span_at(seq).returned, legal.span_at(seq).begun);
        return text;
    };
    EXPECT_EQ(spans("note \"step: unmount\"\n"), "0-0 0-1 1-2 1-2 2-2 ");
    EXPECT_EQ(spans("record_off\n"), "0-0 0-1 1-2 1-2 2-2 ");
    end.same_tree = true;
    EXPECT_EQ(spans("record_off\n"), "0-0 0-1 1-1 1-1 1-1 ") << "it did nothing";
}

// What other threads of the process call meanwhile does not make an operation begin later.
TEST_F(ScriptCalls, OfThreadsBeginWhereTheyWereEntered)
{
    for (const std::size_t i : {1, 2})
        past_.history.states[i].call_ordinal = static_cast<std::uint32_t>(i);
    const std::string trace = "process_start \"/bin/p\" in 0x2000\n"                   // 0
                              "syscall_enter 257 (0,0,0,0,0,0, 1) \"f\" in 0x2000\n"   // 1
                              "v1 syscall_enter 83 (0,0,0,0,0,0, 2) \"d\" in 0x2000\n" // 2
                              "v1 syscall_enter 202 (0,0,0,0,0,0, 3) in 0x2000\n"      // 3
                              "v1 syscall_exit 83 (2) = 0 in 0x2000\n"                 // 4
                              "syscall_exit 257 (1) = 7 in 0x2000\n";                  // 5
    const auto operations = traced_calls(read(trace), past_.history, false);
    ASSERT_EQ(operations.size(), 2u);
    EXPECT_EQ(operations[0].text, "mkdir d");
    EXPECT_EQ(operations[0].first_seq, 2u);
    EXPECT_EQ(operations[0].last_seq, 4u);
    EXPECT_EQ(operations[1].text, "openat f");
    EXPECT_EQ(operations[1].first_seq, 1u);
    EXPECT_EQ(operations[1].last_seq, 5u);
}

// Calls of the same number and result, by somebody else or about something else.
TEST_F(ScriptCalls, OfOthersAreRefused)
{
    const auto refused = [&] {
        try {
            traced_calls(read(trace_), past_.history, true);
        } catch (const NoLegalTrees &none) {
            return std::string(none.what());
        }
        return std::string();
    };
    agent::CallSignature &mkdir = past_.history.states[1].signature;
    agent::CallSignature &open = past_.history.states[2].signature;
    mkdir = {.process = 2, .thread = 2, .numbers = {}, .paths = "d"};
    open = {.process = 1, .thread = 1, .numbers = {2}, .paths = "f"};
    EXPECT_EQ(refused(), "") << "a trace may lack arguments";
    mkdir.paths = "e";
    EXPECT_EQ(refused(), "its threads or processes take turns in another way each time: call 2 is "
                         "mkdir d () by process 2 in the recording, and mkdir e () by process 2 "
                         "when it was observed");
    mkdir.paths = "d";
    mkdir.process = 1;
    EXPECT_NE(refused(), "") << "the parent made it";
    mkdir.process = 2;
    open.process = 3;
    EXPECT_NE(refused(), "") << "another child made it";
}

TEST_F(ScriptCalls, ToOtherDescriptorsAndPlacesAreRefused)
{
    for (const std::size_t i : {1, 2}) {
        past_.history.states[i].call = SYS_pwrite64;
        past_.history.states[i].call_ordinal = static_cast<std::uint32_t>(i);
        past_.history.states[i].result = 10;
        past_.history.states[i].inode = 10 + i;
    }
    agent::CallSignature &first = past_.history.states[1].signature;
    agent::CallSignature &second = past_.history.states[2].signature;
    const std::string trace =
        "process_start \"/bin/p\" in 0x2000\n"
        "syscall_enter 18 (3, 0x7f0000005000, 10, 4096, 0, 0, 1) in 0x2000\n"
        "v1 syscall_enter 18 (4, 0x7f0000006000, 10, 4096, 0, 0, 2) in 0x2000\n"
        "syscall_exit 18 (1) = 10 in 0x2000\n"
        "v1 syscall_exit 18 (2) = 10 in 0x2000\n";
    const auto calls = [&] { return traced_calls(read(trace), past_.history, false).size(); };
    first = {.process = 1, .thread = 1, .numbers = {3, 10, 4096}, .paths = {}};
    second = {.process = 1, .thread = 2, .numbers = {4, 10, 4096}, .paths = {}};
    EXPECT_EQ(calls(), 2u);
    std::swap(first, second);
    EXPECT_THROW(calls(), NoLegalTrees) << "the other thread was first";
    std::swap(first, second);
    first.numbers[2] = 0;
    EXPECT_THROW(calls(), NoLegalTrees) << "to another place";
    first.numbers[2] = 4096;
    past_.history.states[2].inode = past_.history.states[1].inode;
    EXPECT_THROW(calls(), NoLegalTrees) << "nobody knows which thread was first";
    second.thread = 1;
    EXPECT_EQ(calls(), 2u) << "one thread has an order";
}

TEST_F(ScriptCalls, ThatDifferFromThoseObservedAreRefused)
{
    past_.history.states[1].call = SYS_rmdir;
    EXPECT_THROW(traced_calls(read(trace_), past_.history, true), NoLegalTrees);
    past_.history.states[1].call = SYS_mkdir;
    past_.history.states[2].call_ordinal = 9;
    EXPECT_THROW(traced_calls(read(trace_), past_.history, true), NoLegalTrees);
}

} // namespace
} // namespace fencepost::oracle
