// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost run` end to end: the promise that it names, system calls of a script as operations,
// and a recovery command that checks durability.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/files.h"

namespace fencepost::test {
namespace {

using nlohmann::json;

class PromiseRun : public testing::Test {
protected:
    int run(const std::filesystem::path &spec, std::vector<std::string> options = {})
    {
        options.insert(options.begin(), {FENCEPOST_PROGRAM, "run", spec.string(), "-o",
                                         run_.string(), "--times", "0", "--json"});
        const CommandResult result = run_command(options);
        said_ = result.output + result.errors;
        output_ = result.output;
        const json document = json::parse(result.output, nullptr, false);
        test_ = document.is_object() ? document.value("test", json()) : json();
        return result.end.by_signal ? -1 : result.end.code;
    }
    int run_text(const std::string &spec, const std::vector<std::string> &options = {})
    {
        write_file(directory_.path() / "spec.toml", spec);
        return run(directory_.path() / "spec.toml", options);
    }
    // What was said and the summaries of the findings, against the published schema.
    std::string schema_mistakes() const
    {
        const auto said = directory_.path() / "said.json";
        write_file(said, output_);
        std::vector<std::string> command = {
            "/usr/bin/python3", FENCEPOST_SOURCE "/tests/cli/findings_schema.py", said.string()};
        for (const auto &finding : std::filesystem::directory_iterator(run_ / "findings"))
            command.push_back((finding.path() / "summary.json").string());
        const CommandResult checked = run_command(command);
        return checked.end.code == 0 ? "" : checked.output + checked.errors;
    }
    // Of a finding, or of what it was also seen as.
    bool has_title(const std::string &part) const
    {
        for (const json &finding : test_.at("findings")) {
            json seen = finding.at("also");
            seen.push_back(finding);
            for (const json &each : seen)
                if (each.at("title").get<std::string>().find(part) != std::string::npos)
                    return true;
        }
        return false;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-promise-"};
    const std::filesystem::path run_ = directory_.path() / "run";
    std::string said_;
    std::string output_;
    json test_;
};

// One command, two calls. ext4 makes nothing durable when a call returns.
constexpr const char *kScript = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
sync
mkdir d && mv d e
sync
"""
[test]
oracles = ["semantic"]
)";

TEST_F(PromiseRun, SystemCallsOfAScriptAreHeldAgainstThePromise)
{
    ASSERT_EQ(run_text(kScript), 0) << said_;
    EXPECT_EQ(test_.at("promise").at("name"), "fsync");
    EXPECT_EQ(test_.at("promise").at("source"), "default for ext4, xfs with dax or dax=always");
    EXPECT_EQ(said_.find("judged by whole commands"), std::string::npos) << said_;

    ASSERT_EQ(run_text(std::string(kScript) + "promise = \"strict\"\n"), 1) << said_;
    EXPECT_EQ(test_.at("promise").at("source"), "spec");
    EXPECT_TRUE(has_title("mkdir d (in: mkdir d && mv d e): d is missing though it has returned"))
        << test_.dump(2);
    const std::string id = test_.at("findings")[0].at("id");
    const json tree = json::parse(read_file(run_ / "findings" / id / "tree.json"));
    EXPECT_EQ(tree.at("entries")[0].at("path"), ".");
    const json summary = json::parse(read_file(run_ / "findings" / id / "summary.json"));
    EXPECT_FALSE(summary.at("evidence")[0].at("details").at("against").empty());
    EXPECT_EQ(summary, test_.at("findings")[0]);
    EXPECT_EQ(schema_mistakes(), "");
}

// The commands of docs/how-to/test.md.
TEST_F(PromiseRun, TheExampleThatExpectsDurability)
{
    ASSERT_EQ(run(FENCEPOST_SOURCE "/docs/how-to/durable.toml"), 1) << said_;
    ASSERT_EQ(test_.at("findings").size(), 1u) << test_.dump(2);
    EXPECT_TRUE(has_title("checkpoint 2 was passed and record 2 is lost")) << test_.dump(2);
}

} // namespace
} // namespace fencepost::test
