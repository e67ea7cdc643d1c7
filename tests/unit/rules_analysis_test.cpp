// SPDX-License-Identifier: GPL-2.0-or-later
// An analysis as its user asks for it: where its rule files come from and what they change.
#include <functional>

#include <gtest/gtest.h>

#include "analyzer/rules/analysis.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/golden/trace_text.h"

namespace fencepost::rules {
namespace {

// `persist body before head` does not hold: both are in flight when `head` is written.
constexpr const char *kTrace = "range (pmem0+0x100, 64) \"body\"\n"
                               "range (pmem0+0x40, 8) \"head\"\n"
                               "store pmem0+0x100 8 = 1 @fill:1\n"
                               "store pmem0+0x40 8 = 1 @commit:1\n"
                               "flush clwb pmem0+0x100 @commit:2\n"
                               "flush clwb pmem0+0x40 @commit:3\n"
                               "fence sfence @commit:4\n";
constexpr const char *kOrder = "persist body before head\n";

std::string refusal(const std::function<void()> &work)
{
    try {
        work();
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        return error.what();
    }
    return "not refused";
}

class Analysis : public testing::Test {
protected:
    Analysis() { golden::write_trace(kTrace, trace_); }

    std::filesystem::path written(const std::string &name, const std::string &text) const
    {
        std::filesystem::create_directories((directory_.path() / name).parent_path());
        write_file(directory_.path() / name, text);
        return directory_.path() / name;
    }
    std::vector<std::string> rules_found(RuleFiles files) const
    {
        std::vector<std::string> found;
        for (const findings::Finding &each : analyze(trace_, {.files = std::move(files)}).findings)
            found.push_back(each.rule);
        return found;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-analysis-"};
    const std::filesystem::path trace_ = directory_.path() / "trace.db";
};

using Names = std::vector<std::string>;

TEST_F(Analysis, RuleFilesOfASpecAndOfTheUserMeanTheSame)
{
    EXPECT_EQ(rules_found({}), Names());

    const SourceText order = {kOrder, "order.txt"};
    EXPECT_EQ(rules_found(rule_files({}, {{order}}, {})), Names{"unordered"});
    RuleFiles files;
    files.add_order(written("order.txt", kOrder));
    EXPECT_EQ(rules_found(files), Names{"unordered"});

    const std::string silence = "unordered function=commit\n";
    const SourceText suppressions = {silence, "known.txt"};
    EXPECT_EQ(rules_found(rule_files({}, {{order}}, {{suppressions}})), Names());
    files.add_suppressions(written("known.txt", silence));
    EXPECT_EQ(rules_found(files), Names());
}

TEST_F(Analysis, TransactionsComeOnTopOfTheBuiltInOnes)
{
    const std::size_t built_in = RuleFiles().transactions.size();
    const std::string table = "transaction mine\nbegin my_begin\ncommit my_commit\n";
    const SourceText source = {table, "tx.txt"};
    RuleFiles files = rule_files({{source}}, {}, {});
    ASSERT_EQ(files.transactions.size(), built_in + 1);
    EXPECT_EQ(files.transactions.back().place, "tx.txt:1");
    files.add_transactions(written("tx.txt", table));
    EXPECT_EQ(files.transactions.size(), built_in + 2);
}

// A run may come from somebody else: only its own user may have files read from anywhere.
TEST_F(Analysis, AnOrderFileOfASpecReadsNothingOutsideItsDirectory)
{
    const auto below = written("spec/types/list.elf", "").parent_path();
    written("elsewhere.elf", "");
    const auto types = [](const std::string &file) { return "struct body node in " + file + "\n"; };
    const auto of_spec = [&](const std::string &file) {
        const SourceText source = {types(file), "order.txt", 1, below.parent_path()};
        rule_files({}, {{source}}, {});
    };
    of_spec("types/list.elf");
    EXPECT_EQ(refusal([&] { of_spec("../elsewhere.elf"); }),
              "order.txt:1: " + (directory_.path() / "spec/../elsewhere.elf").string() +
                  " is not below " + (directory_.path() / "spec").string());
    RuleFiles files;
    files.add_order(written("spec/order.txt", types("../elsewhere.elf")));
    EXPECT_EQ(files.order_file().types.size(), 1u);
}

TEST_F(Analysis, MistakesComeBeforeTheTraceIsRead)
{
    RuleFiles files;
    files.add_order(written("order.txt", "persist body after head\n"));
    const std::string message =
        refusal([&] { analyze(directory_.path() / "none.db", {.files = files}); });
    EXPECT_NE(message.find("order.txt:1: "), std::string::npos) << message;
    EXPECT_NE(refusal([] {
                  check_rule_names({{"missing-flush", "no-such"}});
              }).find("there is no rule 'no-such'; there are missing-flush, "),
              std::string::npos);
}

} // namespace
} // namespace fencepost::rules
