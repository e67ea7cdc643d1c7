// SPDX-License-Identifier: GPL-2.0-or-later
// Scripts cut into their top-level commands; a real shell says whether the marked script still is
// one.
#include "replayer/run/script.h"

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/agent/script_marks.h"

namespace fencepost::run {
namespace {

std::vector<std::string> commands(const std::string &text)
{
    std::vector<std::string> result;
    for (const ScriptCommand &command : split_script({text, "s", 1}))
        result.push_back(command.text);
    return result;
}

using Texts = std::vector<std::string>;

TEST(Script, IsCutAtItsTopLevel)
{
    EXPECT_EQ(commands("a\n\n# no\n  b x # c\n"), (Texts{"a", "b x # c"}));
    EXPECT_EQ(commands("a; b && c"), (Texts{"a; b && c"}));
    EXPECT_EQ(commands("a |\nb\nc &&\n  d\ne ||\n\nf\n"),
              (Texts{"a |\nb", "c &&\n  d", "e ||\n\nf"}));
    EXPECT_EQ(commands("a \\\n b\nc"), (Texts{"a \\\n b", "c"}));
    EXPECT_EQ(commands("echo 'x\ny' \"z\n`q`\"\nb"), (Texts{"echo 'x\ny' \"z\n`q`\"", "b"}));
    EXPECT_EQ(commands("if a\nthen b\nfi\nc"), (Texts{"if a\nthen b\nfi", "c"}));
    EXPECT_EQ(commands("for i in 1 2\ndo\n a\ndone\nwhile x; do y; done\nb"),
              (Texts{"for i in 1 2\ndo\n a\ndone", "while x; do y; done", "b"}));
    EXPECT_EQ(commands("case $x in\n a|b) c ;;\n (d) e\n f;;\n *) g\nesac\nh"),
              (Texts{"case $x in\n a|b) c ;;\n (d) e\n f;;\n *) g\nesac", "h"}));
    EXPECT_EQ(commands("f() {\n a\n}\nf"), (Texts{"f() {\n a\n}", "f"}));
    EXPECT_EQ(commands("f()\n{\n a\n}\nf"), (Texts{"f()\n{\n a\n}", "f"}));
    EXPECT_EQ(commands("case x in\n a) if y\n then z\n fi ;;\nesac\nb"),
              (Texts{"case x in\n a) if y\n then z\n fi ;;\nesac", "b"}));
    EXPECT_EQ(commands("( a\nb )\nc"), (Texts{"( a\nb )", "c"}));
    EXPECT_EQ(commands("(a; (b))\nc"), (Texts{"(a; (b))", "c"}));
    EXPECT_EQ(commands("cat <<E\nif\n)\nE\nb"), (Texts{"cat <<E\nif\n)\nE", "b"}));
    EXPECT_EQ(commands("cat <<-'E F' >x\n\tq\n\tE F\nb"),
              (Texts{"cat <<-'E F' >x\n\tq\n\tE F", "b"}));
    EXPECT_EQ(commands("x=$(a\nb)\nc"), (Texts{"x=$(a\nb)", "c"}));
    EXPECT_EQ(commands("x=$((1 + (2)))\nc ${x#'}'}\nd"),
              (Texts{"x=$((1 + (2)))", "c ${x#'}'}", "d"}));
    EXPECT_EQ(commands("echo if for done }\nb"), (Texts{"echo if for done }", "b"}));
    EXPECT_EQ(commands("echo a#b # c\nd"), (Texts{"echo a#b # c", "d"}));
    EXPECT_EQ(commands("a \f\v b\nc"), (Texts{"a \f\v b", "c"}));
    EXPECT_EQ(commands(""), Texts());
}

TEST(Script, CommandsKnowTheirLines)
{
    const auto found = split_script({"\na\nif x\nthen y\nfi\n\nb\n", "s", 10});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].line, 11u);
    EXPECT_EQ(found[1].line, 12u);
    EXPECT_EQ(found[2].line, 16u);
}

TEST(Script, WhatHasNoEndIsNamed)
{
    const std::pair<const char *, const char *> rows[] = {
        {"a\necho 'x", "s:2: a single-quoted string has no end"},
        {"echo \"x\n", "s:1: a double-quoted string has no end"},
        {"a\nif b\nthen c\n", "s:2: 'if' has no end"},
        {"( a", "s:1: '(' has no end"},
        {"a )", "s:1: ')' without '('"},
        {"done\n", "s:1: 'done' without what it ends"},
        {"cat <<E\nx\n", "s:1: a here-document that ends with E has no end"},
        {"x=$(a", "s:1: $(...) has no end"},
        {"case x in\n a) b ;;\n", "s:1: 'case' has no end"},
        {"echo ${x", "s:1: ${...} has no end"},
        {"echo `x", "s:1: a command in backquotes has no end"},
    };
    for (const auto &row : rows) {
        try {
            commands(row.first);
            ADD_FAILURE() << row.first;
        } catch (const Error &error) {
            EXPECT_EQ(error.exit_code(), 2);
            EXPECT_STREQ(error.what(), row.second);
        }
    }
}

// The marked script does in a shell what the script does, and tells of each command and its status.
TEST(Script, RunsMarkedAsItRunsPlain)
{
    const std::string plain = "x=1\n"
                              "for i in 1 2\ndo\n  x=$((x + i))\ndone\n"
                              "f() { return 3; }\n"
                              "f\n"
                              "echo \"$? $x\"\n"
                              "cat <<E\nhere $x\nE\n"
                              "case $x in 4) echo four ;; *) echo other ;; esac\n"
                              "cd /tmp; pwd\n"
                              "false || echo or\n";
    const TemporaryDirectory directory("/tmp", "fp-script-");
    std::string marked = marked_script(split_script({plain, "s", 1}));
    // Instead of the agent at the other end of two pipes: a file takes the marks, another answers.
    auto replace = [&](const std::string &from, const std::string &to) {
        const std::size_t at = marked.find(from);
        ASSERT_NE(at, std::string::npos);
        marked.replace(at, from.size(), to);
    };
    replace(std::string(">") + agent::kMarkPipe + ";",
            ">>" + (directory.path() / "marks").string() + ";");
    write_file(directory.path() / "answer", "\n");
    replace(agent::kMarkedPipe, (directory.path() / "answer").string());
    write_file(directory.path() / "plain", plain);
    write_file(directory.path() / "marked", marked);
    const CommandResult expected = run_command({"/bin/sh", (directory.path() / "plain").string()});
    const CommandResult actual = run_command({"/bin/sh", (directory.path() / "marked").string()});
    EXPECT_EQ(expected.output, "3 4\nhere 4\nfour\n/tmp\nor\n");
    EXPECT_EQ(actual.output, expected.output) << actual.errors;
    EXPECT_EQ(actual.errors, "");
    EXPECT_EQ(read_file(directory.path() / "marks"),
              "b 1\ne 1 0\nb 2\ne 2 0\nb 3\ne 3 0\nb 4\ne 4 3\nb 5\ne 5 0\nb 6\ne 6 0\nb 7\ne 7 "
              "0\nb 8\ne 8 0\nb 9\ne 9 0\n");
}

TEST(Script, SetEStillEndsIt)
{
    const TemporaryDirectory directory("/tmp", "fp-script-");
    std::string marked =
        marked_script(split_script({"set -e\n! true\necho here\nfalse\necho not\n", "s", 1}));
    for (const char *pipe : {agent::kMarkPipe, agent::kMarkedPipe})
        marked.replace(marked.find(pipe), std::string(pipe).size(), "/dev/null");
    write_file(directory.path() / "marked", marked);
    const CommandResult result = run_command({"/bin/sh", (directory.path() / "marked").string()});
    EXPECT_EQ(result.output, "here\n");
    EXPECT_EQ(result.end.code, 1);
}

} // namespace
} // namespace fencepost::run
