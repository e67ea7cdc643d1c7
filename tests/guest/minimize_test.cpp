// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost minimize` on planted bugs: the stores that it names are the planted ones, and its two
// neighbours pass and fail each time.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/files.h"
#include "base/json.h"
#include "base/places.h"
#include "replayer/image/delta_file.h"
#include "replayer/run/inputs.h"
#include "replayer/test/minimal_finding.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_guest.h"
#include "tests/guest/kernel_module.h"
#include "tests/guest/world.h"

namespace fencepost::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using oracle::Verdict;

constexpr unsigned kTimes = 10;

class Minimize : public testing::Test {
protected:
    int fencepost(std::vector<std::string> words)
    {
        words.insert(words.begin(), FENCEPOST_PROGRAM);
        const CommandResult result = run_command(words);
        output_ = result.output;
        errors_ = result.errors;
        return result.end.by_signal ? -1 : result.end.code;
    }
    void run(const fs::path &spec, std::vector<std::string> options = {})
    {
        options.insert(options.begin(), {"run", spec.string(), "-o", run_.directory.string(),
                                         "--times", "0", "--minimize", "0", "--jobs", "1"});
        ASSERT_EQ(fencepost(options), 1) << output_ << errors_;
    }
    // Of the first finding.
    json minimize(std::vector<std::string> options = {})
    {
        options.insert(options.begin(), {"--json", "minimize", run_.directory.string()});
        EXPECT_EQ(fencepost(options), 0) << errors_;
        const json findings = json_or_discarded(output_).value("findings", json::array());
        EXPECT_FALSE(findings.empty()) << output_ << errors_;
        return findings.empty() ? json::object() : findings[0];
    }

    // What fresh guests make of a delta that is kept beside the finding.
    std::vector<Verdict> verdicts(const std::string &finding, const char *delta_file)
    {
        const image::ImageDelta delta = image::read_delta(run_.findings() / finding / delta_file);
        const trace::TraceReader reader(run_.trace());
        const image::InitialImage initial(reader);
        const run::Inputs inputs = run::load_inputs(run_);
        const auto quiet = [](const std::string &) {};
        const auto judge = make_run_judge({.run = run_,
                                           .inputs = inputs,
                                           .oracles = {},
                                           .cache = cache_directory(),
                                           .progress = quiet});
        const TestGuest guest(cache_directory(), "process", inputs.config, guest::Accelerator::tcg,
                              quiet);
        const PmPlace place(cache_directory(), guest.source().config, 1);
        const WorkerPlan plan = {
            guest.templates(), guest.source(), initial, *judge, place.path(), true};
        Assignment assignment = {.state = states::parse_crash_state(delta.state), .content = {}};
        assignment.content.step = std::make_shared<image::ImageStep>();
        assignment.content.in_flight = delta.lines;
        Worker worker(plan, 0, assignment.content.step);
        std::vector<Verdict> said;
        for (unsigned time = 0; time < kTimes; ++time)
            said.push_back(worker.test(assignment).judgement.verdict);
        return said;
    }
    void expect_neighbours(const json &minimal)
    {
        const std::string finding = minimal.at("finding");
        EXPECT_TRUE(minimal.at("fail").at("confirmed"));
        EXPECT_TRUE(minimal.at("pass").at("confirmed"));
        EXPECT_EQ(verdicts(finding, "pass.delta"), std::vector(kTimes, Verdict::pass));
        for (const Verdict verdict : verdicts(finding, "fail.delta"))
            EXPECT_TRUE(oracle::is_failure(verdict)) << to_string(verdict);
        EXPECT_EQ(minimal.at("differ").size(), 1u) << minimal.at("differ").dump(1);
        EXPECT_LE(minimal.at("tests").at("count").get<unsigned>(), 60u);
        // The states have ids that others take.
        for (const char *which : {"fail", "pass"})
            EXPECT_EQ(fencepost({"states", run_.directory.string(), "--show",
                                 minimal.at(which).at("state")}),
                      0)
                << errors_;
    }

    const TemporaryDirectory directory_{"/tmp", "fp-minimize-"};
    const run::RunFiles run_{directory_.path() / "run"};
    std::string output_;
    std::string errors_;
};

// Stores that matter by themselves, not by the order of their line.
std::vector<json> meant(const json &stores)
{
    std::vector<json> found;
    for (const json &each : stores)
        if (!each.at("implied"))
            found.push_back(each);
    return found;
}

TEST_F(Minimize, TheFlagPersistedAndTheRecordWasLost)
{
    EXPECT_EQ(fencepost({"minimize", directory_.path().string()}), 2);
    run(fs::path(FENCEPOST_SOURCE) / "docs/how-to/ledger.toml");
    const json minimal = minimize();
    ASSERT_TRUE(minimal.at("complete") && minimal.at("exact")) << minimal.dump(1);
    const std::vector<json> persisted = meant(minimal.at("persisted"));
    const std::vector<json> lost = meant(minimal.at("lost"));
    ASSERT_EQ(persisted.size(), 1u);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(persisted[0].at("operation"), "store m 4096 \"valid\"");
    EXPECT_EQ(lost[0].at("operation"), "store m 0 \"amount=100\"");
    // debugfs knows whose blocks these are.
    const auto belongs_to = [](const json &store) {
        return store.at("bytes").at(0).value("belongs_to", "");
    };
    EXPECT_EQ(belongs_to(persisted[0]), "ext4: block of /ledger at 4096");
    EXPECT_EQ(belongs_to(lost[0]), "ext4: block of /ledger at 0");
    const std::string sentence = minimal.at("sentence");
    EXPECT_TRUE(sentence.starts_with("fails exactly when ")) << sentence;
    EXPECT_FALSE(minimal.at("earliest").is_null());
    expect_neighbours(minimal);

    // What is there is shown, and made anew when that is wanted.
    const std::string finding = minimal.at("finding");
    ASSERT_EQ(fencepost({"show", run_.directory.string(), finding}), 0) << errors_;
    const std::string timeline = output_.substr(output_.find("Timeline"));
    const std::string row = "\n               ext4: block of /ledger at ";
    EXPECT_NE(timeline.find(row + "4096\n"), std::string::npos) << output_;
    EXPECT_TRUE(fs::exists(run_.findings() / finding / "annotations.json"));
    EXPECT_EQ(minimize({finding}), minimal);
    EXPECT_EQ(fencepost({"minimize", run_.directory.string(), finding}), 0);
    EXPECT_NE(output_.find("minimized before"), std::string::npos) << output_;
    EXPECT_EQ(minimize({finding, "--force"}).at("sentence"), sentence);
    EXPECT_EQ(minimize({"--tests", "0", "--force"}).at("complete"), true)
        << "all but the confirmation is known from the test";

    // A limit ends what is under way too: a recording and its test take longer.
    const Stopwatch watch;
    EXPECT_EQ(
        fencepost({"minimize", run_.directory.string(), finding, "--workload", "--for", "1s"}), 0)
        << errors_;
    EXPECT_LT(watch.seconds(), 3.5);
    EXPECT_NE(errors_.find("time limit reached"), std::string::npos) << errors_;
    EXPECT_EQ(minimize({finding}),
              json_or_discarded(read_file(run_.findings() / finding / "minimal.json")));

    EXPECT_EQ(fencepost({"minimize", run_.directory.string(), finding.substr(0, 11) + "x"}), 2);
    EXPECT_NE(errors_.find("the nearest is " + finding), std::string::npos) << errors_;
    EXPECT_EQ(fencepost({"test", run_.directory.string(), "--restart", "--minimize", "20s"}), 1);
    EXPECT_NE(output_.find("    fails exactly when "), std::string::npos) << output_;
    EXPECT_TRUE(fs::exists(run_.findings() / finding / "minimal.json"));
}

// A file system with a planted bug, in an image of its own.
class MinimizeFencefs : public Minimize {
protected:
    static const fs::path &module()
    {
        static const TemporaryDirectory directory("/tmp", "fp-minimize-module-");
        static const fs::path module = [] {
            std::vector<fs::path> sources;
            std::istringstream words(FENCEPOST_FENCEFS_SOURCES);
            for (std::string word; words >> word;)
                sources.push_back(word);
            const guest::World world("process", {});
            return guest::build_kernel_module(world.source().kernel_release, sources,
                                              directory.path());
        }();
        return module;
    }

    void run_with(const std::string &bug, const std::string &operations)
    {
        const fs::path root = directory_.path() / "root/usr/sbin";
        const fs::path oracle = directory_.path() / "oracle";
        fs::create_directories(root);
        fs::create_directories(oracle);
        fs::copy(FENCEPOST_FENCEFS_MKFS, root);
        fs::copy(FENCEPOST_FENCEFS_FSCK, oracle);
        const fs::path source = fs::path(FENCEPOST_SOURCE) / "tests/targets/fencefs/oracle";
        for (const char *name : {"oracle.toml", "check"})
            fs::copy(source / name, oracle);
        const fs::path annotator = directory_.path() / "annotator";
        fs::create_directories(annotator);
        fs::copy(FENCEPOST_FENCEFS_ANNOTATE, annotator);
        fs::copy(source.parent_path() / "annotator/annotator.toml", annotator);
        fs::copy(module(), directory_.path());
        const fs::path spec = directory_.path() / "spec.toml";
        write_file(spec, "[guest]\nmodule_files = [\"fencefs.ko\"]\ninitrd_extra = [\"root\"]\n"
                         "[pm]\nsize = \"16M\"\n[file_system]\ntype = \"fencefs\"\n"
                         "mkfs_program = \"mkfs.fencefs\"\nfirst_mount_options = \"dax\"\n"
                         "mount_options = \"dax,bug=" +
                             bug + "\"\n[workload]\nkind = \"ops\"\ntext = \"\"\"\n" + operations +
                             "\"\"\"\n[test]\noracles = [\"./oracle\", \"semantic\"]\n"
                             "annotator = \"./annotator\"\n"
                             "promise = \"strict\"\ntime_limit = 5\n");
        run(spec, {"--bugs", "1", "--window", "op:2-3"});
    }
};

TEST_F(MinimizeFencefs, ARenameInTwoTransactions)
{
    run_with("rename_in_two", "open a one rdwr|creat\nrename one two\nmkdir d\n");
    const json minimal = minimize();
    ASSERT_TRUE(minimal.at("complete")) << minimal.dump(1);
    for (const json &each : meant(minimal.at("persisted")))
        EXPECT_EQ(each.at("operation"), "rename one two") << each.dump(1);
    ASSERT_FALSE(minimal.at("pass").is_null());
    EXPECT_EQ(minimal.at("differ").at(0).at("operation"), "rename one two");
    EXPECT_EQ(minimal.at("differ").at(0).at("function"), "set_commit");
    expect_neighbours(minimal);

    // The first operation makes what is renamed.
    const std::string finding = minimal.at("finding");
    ASSERT_EQ(fencepost({"--json", "minimize", run_.directory.string(), finding, "--workload"}), 0)
        << errors_;
    const json workloads = json_or_discarded(output_).value("workloads", json::array());
    ASSERT_EQ(workloads.size(), 1u) << output_;
    EXPECT_EQ(workloads[0].at("lines"), json::array({"open a one rdwr|creat", "rename one two"}));
    EXPECT_EQ(read_file(run_.findings() / finding / "workload.ops"),
              "open a one rdwr|creat\nrename one two\n");
}

TEST_F(MinimizeFencefs, ACommitWordBeforeItsRecords)
{
    run_with("commit_first", "mkdir old\nmkdir d\nrename old d/new\n");
    const json minimal = minimize();
    ASSERT_TRUE(minimal.at("complete")) << minimal.dump(1);
    const std::set<std::string> decide = {"set_commit", "write_records"};
    for (const char *which : {"persisted", "lost", "differ"})
        for (const json &each : minimal.at(which))
            EXPECT_TRUE(decide.contains(each.at("function").get<std::string>())) << each.dump(1);
    EXPECT_FALSE(minimal.at("lost").empty());
    // As the file system's own annotator has it.
    for (const char *which : {"persisted", "lost"})
        for (const json &each : minimal.at(which)) {
            const json &range = each.at("bytes").at(0);
            const std::string place = range.at("place");
            const std::uint64_t at = std::stoull(place.substr(place.find('+') + 1), nullptr, 16) -
                                     (2 << 20) - 4096; // the device, and the superblock
            EXPECT_EQ(range.value("belongs_to", ""),
                      at == 0 ? "fencefs: journal, the commit word"
                              : "fencefs: journal, at " + std::to_string(at));
        }
    expect_neighbours(minimal);
}

} // namespace
} // namespace fencepost::test
