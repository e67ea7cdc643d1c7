// SPDX-License-Identifier: GPL-2.0-or-later
// File operations and j-lang: what they compile to, what is refused and where, and that the agent's
// executor does them.
#include "replayer/run/ops_parser.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/agent/ops_executor.h"

namespace fencepost::run {
namespace {

namespace fs = std::filesystem;
using agent::Op;
using agent::OpKind;
using agent::OpsProgram;

OpsProgram ops(const std::string &text)
{
    return parse_ops({text, "w.ops", 1});
}

OpsProgram j_lang(const std::string &text)
{
    return parse_j_lang({text, "w.j", 1});
}

template <typename Parse> std::string refusal(Parse parse, const std::string &text)
{
    try {
        parse(text);
    } catch (const Error &error) {
        EXPECT_EQ(error.exit_code(), 2);
        return error.what();
    }
    return "accepted";
}

const std::vector<Op> &first_thread(const OpsProgram &program)
{
    return program.phases.at(0).threads.at(0).ops;
}

TEST(Ops, CompilesArguments)
{
    const OpsProgram program = ops("# comment\n"
                                   "open a \"x y\" rdwr|creat 0600 # more\n"
                                   "open b z O_RDONLY|O_DIRECTORY\n"
                                   "\n"
                                   "pwrite a 0x10 4K:7\n"
                                   "write a \"q\\n\\x00\"\n"
                                   "fallocate a keep_size|punch_hole 0 1M\n"
                                   "try rename p q exchange\n"
                                   "checkpoint 9\n"
                                   "map m a 4096 8192\n"
                                   "store m 8 \"s\"\n"
                                   "mkdir d\n");
    const std::vector<Op> &made = first_thread(program);
    ASSERT_EQ(made.size(), 10u);
    EXPECT_EQ(program.file_slots, 2);
    EXPECT_EQ(program.map_slots, 1);
    EXPECT_EQ(made[0].path, "x y");
    EXPECT_EQ(made[0].numbers[0], std::uint64_t{O_RDWR | O_CREAT});
    EXPECT_EQ(made[0].numbers[1], 0600u);
    EXPECT_EQ(made[0].text, "open a \"x y\" rdwr|creat 0600");
    EXPECT_EQ(made[0].line, 2u);
    EXPECT_EQ(made[1].slot, 1);
    EXPECT_EQ(made[1].numbers[0], std::uint64_t{O_DIRECTORY});
    EXPECT_EQ(made[1].numbers[1], 0644u);
    EXPECT_EQ(made[2].numbers[0], 16u);
    EXPECT_EQ(made[2].data.length, 4096u);
    EXPECT_EQ(made[2].data.seed, 7u);
    EXPECT_TRUE(made[3].data.literal);
    EXPECT_EQ(made[3].data.text, std::string("q\n\0", 3));
    EXPECT_EQ(made[4].numbers[0], 3u);
    EXPECT_EQ(made[4].numbers[2], 1u << 20);
    EXPECT_EQ(made[5].failure, agent::OpFailure::is_result);
    EXPECT_EQ(made[5].numbers[0], 2u);
    EXPECT_EQ(made[6].kind, OpKind::checkpoint);
    EXPECT_EQ(made[6].number, 0u);
    EXPECT_EQ(made[7].slot2, 0);
    EXPECT_EQ(made[7].number, 7u);
    EXPECT_EQ(made[9].numbers[0], 0755u);
    EXPECT_TRUE(agent::is_sound(program));
}

TEST(Ops, ThreadsRunInPhases)
{
    const OpsProgram program = ops("sync\nparallel\nthread\nsync\nthread\nsync\nsync\nend\nsync\n");
    ASSERT_EQ(program.phases.size(), 3u);
    EXPECT_EQ(program.phases[0].threads.size(), 1u);
    ASSERT_EQ(program.phases[1].threads.size(), 2u);
    EXPECT_EQ(program.phases[1].threads[1].ops.at(1).number, 4u);
    EXPECT_EQ(program.phases[2].threads.at(0).ops.at(0).number, 5u);
}

TEST(Ops, NamesLineAndColumn)
{
    const std::pair<const char *, const char *> rows[] = {
        {"sync\n  dance x\n", "w.ops:2:3: there is no operation 'dance'"},
        {"close a\n", "w.ops:1:7: there is no file 'a' above"},
        {"open a\n", "w.ops:1:7: PATH is missing: open NEW_FILE PATH OPEN_FLAGS [MODE]"},
        {"open a b rdwr|creat|dance", "w.ops:1:21: 'dance' is none of rdonly"},
        {"open a b rdwr 888", "w.ops:1:15: '888' is not a mode such as 0644"},
        {"truncate a x", "w.ops:1:12: 'x' is not a number from 0 to"},
        {"truncate a 99999999999999999999", "w.ops:1:12: '99999999999999999999' is not a number"},
        {"sync now", "w.ops:1:6: this is too much: sync"},
        {"mkdir \"x", "w.ops:1:7: this string has no end"},
        {"mkdir \"x\\q\"", "w.ops:1:10: a string knows the escapes"},
        {"mkdir \"x\"y", "w.ops:1:10: a blank is missing"},
        {"mkdir \"\"", "w.ops:1:7: a path is empty"},
        {"mkdir \"a\\x00\"", "w.ops:1:7: a path is empty or holds a NUL"},
        {"try", "w.ops:1:4: an operation is missing behind 'try'"},
        {"thread\n", "w.ops:1:1: 'thread' outside of 'parallel'"},
        {"parallel\nsync\n", "w.ops:2:1: 'thread' comes first"},
        {"parallel\nthread\nsync\n", "w.ops:1:1: this 'parallel' has no 'end'"},
        {"parallel\nparallel\n", "w.ops:2:1: 'parallel' inside of 'parallel'"},
        {"parallel\nend\n", "w.ops:2:1: 'parallel' without a 'thread'"},
        {"open a b rdwr\nwrite a 999M", "w.ops:2:9: '999M' is not a number from 0 to 67108864"},
        {"open a b rdwr\nwrite a 9:x", "w.ops:2:11: 'x' is not a number"},
        {"sync\nmark\nmark\n", "w.ops:3:1: there is a 'mark' above"},
        {"parallel\nthread\nmark\nend\n", "w.ops:3:1: 'mark' inside of 'parallel'"},
    };
    for (const auto &row : rows) {
        const std::string message = refusal(ops, row.first);
        EXPECT_EQ(message.substr(0, std::string(row.second).size()), row.second) << row.first;
    }
}

TEST(Ops, TheReferenceHasEveryForm)
{
    const std::string reference = read_file(fs::path(FENCEPOST_SOURCE) / "docs/reference/ops.md");
    for (const std::string &form : ops_forms())
        EXPECT_NE(reference.find("`" + form + "`"), std::string::npos) << form;
}

// In a child, as the agent does it: its working directory, umask and stderr are its own.
CommandResult execute(const OpsProgram &program, const fs::path &directory)
{
    std::fflush(nullptr);
    const fs::path errors = directory.string() + ".errors";
    const pid_t pid = fork();
    if (pid == 0) {
        const Fd file = open_file(errors, O_WRONLY | O_CREAT | O_TRUNC);
        dup2(file.get(), 2);
        if (chdir(directory.c_str()) != 0)
            _exit(9);
        _exit(agent::execute_ops(program));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CommandResult result;
    result.end = {WIFSIGNALED(status),
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
    result.errors = read_file(errors);
    fs::remove(errors);
    return result;
}

TEST(Ops, WhatComesBeforeMarkIsNotCounted)
{
    const OpsProgram program = ops("mkdir d\nparallel\nthread\nsync\nend\nmark\nmkdir e\n");
    EXPECT_FALSE(program.phases.at(0).threads.at(0).ops.at(0).marked);
    EXPECT_FALSE(program.phases.at(1).threads.at(0).ops.at(0).marked);
    const std::vector<Op> &last = program.phases.at(2).threads.at(0).ops;
    ASSERT_EQ(last.size(), 2u);
    EXPECT_EQ(last[0].kind, OpKind::mark);
    EXPECT_TRUE(last[1].marked);
    EXPECT_EQ(last[1].number, 1u);
}

TEST(Ops, WritesHaveBytesOfTheirOwn)
{
    const OpsProgram program =
        ops("open a x rdwr|creat\npwrite a 0 8\npwrite a 0 8\npwrite a 0 8:0\nwrite a \"x\"\n");
    const std::vector<Op> &made = first_thread(program);
    EXPECT_NE(made[1].data.seed, made[2].data.seed);
    EXPECT_EQ(made[3].data.seed, 0u);
    for (std::uint64_t seed = 1; seed < 94; ++seed)
        for (std::uint64_t offset = 0; offset < 256; ++offset)
            ASSERT_NE(agent::pattern_byte(0, offset), agent::pattern_byte(seed, offset)) << seed;
}

TEST(OpsExecutor, DoesThem)
{
    const TemporaryDirectory directory("/tmp", "fp-ops-");
    const CommandResult result =
        execute(ops("mkdir d 0700\n"
                    "open a d/x rdwr|creat 0640\n"
                    "write a \"hello\"\n"
                    "pwrite a 8 3:1\n"
                    "fsync a\n"
                    "open b y rdwr|creat|trunc\n"
                    "ftruncate b 8192\n"
                    "parallel\nthread\npwrite a 20 \"A\"\nthread\npwrite b 4096 \"B\"\nend\n"
                    "map m b 0 8192\nstore m 100 \"mapped\"\nflush m 100 6\nfence\n"
                    "msync m 4000 200\nunmap m\n"
                    "rename d/x d/z\nlink d/z w\nsymlink d/z s\n"
                    "try unlink nothing\nclose a\nclose b\n"
                    "truncate w 21\nchmod w 0600\nrmdir e\nmkdir never\n"),
                directory.path());
    EXPECT_EQ(result.end.code, 1);
    EXPECT_EQ(result.errors, "line 28: rmdir e: No such file or directory\n");
    std::string expected = std::string("hello\0\0\0", 8);
    for (std::uint64_t offset = 8; offset < 11; ++offset)
        expected += agent::pattern_byte(1, offset);
    expected += std::string(9, '\0') + "A";
    EXPECT_EQ(read_file(directory.path() / "d/z"), expected);
    EXPECT_EQ(read_file(directory.path() / "w"), expected);
    const std::string y = read_file(directory.path() / "y");
    ASSERT_EQ(y.size(), 8192u);
    EXPECT_EQ(y.substr(100, 6), "mapped");
    EXPECT_EQ(y[4096], 'B');
    struct stat status;
    ASSERT_EQ(stat((directory.path() / "d").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_FALSE(fs::exists(directory.path() / "never"));
}

TEST(OpsExecutor, SurvivesWhatTheParserWouldNotMake)
{
    const TemporaryDirectory directory("/tmp", "fp-ops-");
    OpsProgram program;
    Op op;
    op.kind = OpKind::write; // no file is open, and there are no slots
    program.phases.push_back({{{{op}}}});
    EXPECT_TRUE(agent::is_sound(program));
    EXPECT_EQ(execute(program, directory.path()).end.code, 1);
    program.phases[0].threads[0].ops[0].slot = 5;
    EXPECT_FALSE(agent::is_sound(program));
    program.phases[0].threads[0].ops[0].slot = 0;
    program.phases[0].threads[0].ops[0].data.length = 1ull << 40;
    EXPECT_FALSE(agent::is_sound(program));
}

constexpr const char *kAce =
    "# define\nA B A/foo B/bar\n\n# declare\nint fd_Afoo\n\n# setup\nmkdir A 0777\n\n# run\n"
    "mkdir B 0777\nmark\nopen Afoo O_RDWR|O_CREAT 0777\nwrite Afoo 0 4096\nnone\n"
    "fsync Afoo\nclose Afoo\nrename Afoo Bbar\nmmapwrite Bbar 0 4096\nsync\ncheckpoint 1\n";

TEST(JLang, IsReadAsOperations)
{
    const OpsProgram program = j_lang(kAce);
    const std::vector<Op> &made = first_thread(program);
    ASSERT_GE(made.size(), 4u);
    EXPECT_EQ(made[0].kind, OpKind::mkdir);
    EXPECT_FALSE(made[0].marked); // before `mark`
    EXPECT_EQ(made[2].kind, OpKind::mark);
    EXPECT_EQ(made[3].kind, OpKind::open);
    EXPECT_EQ(made[3].path, "A/foo");
    EXPECT_EQ(made[3].number, 1u);
    EXPECT_TRUE(agent::is_sound(program));
    const TemporaryDirectory directory("/tmp", "fp-ops-");
    const CommandResult result = execute(program, directory.path());
    EXPECT_EQ(result.end.code, 0) << result.errors;
    EXPECT_EQ(fs::file_size(directory.path() / "B/bar"), 4096u);
    EXPECT_FALSE(fs::exists(directory.path() / "A/foo"));
}

TEST(JLang, WithoutMarkAllIsMarked)
{
    const OpsProgram program =
        j_lang("# define\nfoo\n# run\nopen foo O_RDWR|O_CREAT 0777\nwrite foo 0 8\n");
    for (const Op &op : first_thread(program)) {
        EXPECT_NE(op.kind, OpKind::mark);
        EXPECT_TRUE(op.marked) << op.text;
        EXPECT_NE(op.number, 0u);
    }
}

TEST(JLang, WhatIsSetUpIsNotTheTest)
{
    const OpsProgram program = j_lang("# define\nA foo\n# setup\nmkdir A 0777\n# run\nsync\n");
    const std::vector<Op> &made = first_thread(program);
    ASSERT_EQ(made.size(), 3u);
    EXPECT_FALSE(made[0].marked);
    EXPECT_EQ(made[1].kind, OpKind::mark);
    EXPECT_EQ(made[2].number, 1u);
    EXPECT_EQ(refusal(j_lang, "# define\nA\n# run\nmark\nsync\nmark\n"),
              "w.j:6:1: there is a 'mark' above");
}

// Descriptors from before the mark are used after it, and what an operation does for itself that
// may change the tree is an operation.
TEST(JLang, StepsThatChangeTheTreeAreOperations)
{
    const OpsProgram program = j_lang("# define\nfoo bar\n# run\nopen foo O_RDWR|O_CREAT 0777\n"
                                      "write foo 0 4096\nmark\nwrite foo 0 4096\nwrite bar 0 8\n");
    std::vector<std::string> marked;
    for (const Op &op : first_thread(program))
        if (op.marked)
            marked.push_back(
                fmt::format("{} {} {}", op.number, static_cast<int>(op.kind), op.text));
    EXPECT_EQ(marked,
              (std::vector<std::string>{
                  fmt::format("1 {} write foo 0 4096", static_cast<int>(OpKind::pwrite)),
                  fmt::format("2 {} write bar 0 8 (open)", static_cast<int>(OpKind::open)),
                  fmt::format("3 {} write bar 0 8 (write)", static_cast<int>(OpKind::pwrite))}));
    const TemporaryDirectory directory("/tmp", "fp-ops-");
    EXPECT_EQ(execute(program, directory.path()).errors, "");
}

TEST(JLang, OverwritesDifferInEveryByte)
{
    const char *text = "# define\nfoo\n# run\nopen foo O_RDWR|O_CREAT 0777\nwrite foo 0 9000\n";
    const TemporaryDirectory once("/tmp", "fp-ops-");
    execute(j_lang(text), once.path());
    const TemporaryDirectory twice("/tmp", "fp-ops-");
    execute(j_lang(std::string(text) + "mark\nwrite foo 0 9000\n"), twice.path());
    const std::string before = read_file(once.path() / "foo");
    const std::string after = read_file(twice.path() / "foo");
    ASSERT_EQ(before.size(), 9000u);
    ASSERT_EQ(after.size(), 9000u);
    for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_NE(before[i], after[i]) << i;
}

TEST(JLang, AnOperationThatMustFailIsPartOfTheHistory)
{
    const std::string text = "# define\nA A/C foo\n# run\nmkdir A 0777\nrename A AC\n"
                             "open foo O_RDWR|O_CREAT 0777\nopen foo O_RDWR 0777\nwrite foo 0 8\n";
    const TemporaryDirectory directory("/tmp", "fp-ops-");
    const CommandResult result = execute(j_lang(text), directory.path());
    EXPECT_EQ(result.end.code, 0);
    EXPECT_EQ(result.errors, "line 5: rename A AC: Invalid argument\n");
    EXPECT_EQ(fs::file_size(directory.path() / "foo"), 8u);
    for (const int trouble : {EIO, ENOSPC, EROFS, EUCLEAN, ENOMEM})
        EXPECT_FALSE(agent::is_explained_by_arguments(trouble)) << trouble;
}

TEST(JLang, NamesLineAndColumn)
{
    const std::pair<const char *, const char *> rows[] = {
        {"mkdir A\n", "w.j:1:1: a j-lang file begins with '# define'"},
        {"# dance\n", "w.j:1:1: the sections are"},
        {"# define\nA\n", "w.j:1:1: a j-lang file has a section '# run'"},
        {"# define\n/etc/x\n# run\n", "w.j:2:1: '/etc/x' is not a relative path"},
        {"# define\nA/../../x\n# run\n", "w.j:2:1: 'A/../../x' is not a relative path"},
        {"# define\nA/B AB\n# run\n", "w.j:2:5: AB and A/B are the same without their slashes"},
        {"# define\nA\n# run\nmkdir C 0777\n",
         "w.j:4:7: the path 'C' is not among those of '# define'"},
        {"# define\nA\n# run\nwrite A 0\n", "w.j:4:10: 'write' wants more words"},
        {"# define\nA\n# run\ndance A\n", "w.j:4:1: there is no operation 'dance' in j-lang"},
        {"# define\nA\n# run\nclose A\n", "w.j:4:7: 'A' is not open here"},
        {"# define\nA\n# run\nmmapwrite A 0 0\n", "w.j:4:13: this range cannot be mapped"},
    };
    for (const auto &row : rows) {
        const std::string message = refusal(j_lang, row.first);
        EXPECT_EQ(message.substr(0, std::string(row.second).size()), row.second) << row.first;
    }
}

} // namespace
} // namespace fencepost::run
