// SPDX-License-Identifier: GPL-2.0-or-later
// A whole test of a recorded run: what is tested, what is kept, what a second call goes on with.
#include <atomic>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "replayer/image/delta_file.h"
#include "tests/guest/recorded_run.h"
#include "tests/states/image_listener.h"

namespace fencepost::test {
namespace {

using oracle::Judgement;
using oracle::Subject;
using oracle::Verdict;

RecordedRun &recorded()
{
    static RecordedRun run(kSmallSpec);
    return run;
}

// Mounts; then says what it was told to.
class MountJudge : public oracle::Judge {
public:
    std::function<Judgement(const Subject &)> then = [](const Subject &) { return Judgement{}; };
    std::atomic<unsigned> judged = 0;

    Judgement judge(const Subject &subject) override
    {
        ++judged;
        const Deadline deadline = Deadline::after(std::chrono::minutes(2));
        Judgement said = then(subject);
        subject.guest.with_agent([&](guest::AgentClient &agent) {
            EXPECT_TRUE(agent.mount({"/dev/pmem0", "/mnt/pm", "ext4", "dax"}, deadline));
            EXPECT_TRUE(agent.unmount("/mnt/pm", deadline));
        });
        return said;
    }
};

TestOptions options_of(const std::string &strategies)
{
    TestOptions options;
    options.walk.strategies = states::parse_strategies(strategies);
    options.confirm = 0;
    options.jobs = 2;
    return options;
}

std::uint64_t states_of(const std::string &strategies)
{
    const trace::TraceReader reader(recorded().files().trace());
    states::WalkOptions walk;
    walk.strategies = states::parse_strategies(strategies);
    std::uint64_t count = 0;
    const image::InitialImage initial(reader);
    image::Listener counter(initial, [&](const states::State &, image::StateImages &) {
        ++count;
        return true;
    });
    states::StateWalk(reader, walk).run(counter);
    return count;
}

TestReport run(MountJudge &judge, const TestOptions &options)
{
    return test_run(recorded().files(), recorded().guest(), judge, options, {});
}

TEST(TestRun, GoesOnWhereItWasAndTestsNothingTwice)
{
    MountJudge judge;
    TestOptions options = options_of("none-all");
    options.restart = true;
    options.limit = 7;
    TestReport report = run(judge, options);
    EXPECT_EQ(report.tested, 7u);
    EXPECT_EQ(judge.judged, 7u);
    EXPECT_EQ(report.stop, TestStop::limit);

    options = options_of("none-all");
    report = run(judge, options);
    EXPECT_EQ(report.stop, TestStop::end);
    const std::uint64_t images = report.all_verdicts.at("pass");
    EXPECT_GT(images, 7u);
    EXPECT_EQ(judge.judged, images);
    EXPECT_EQ(report.tested, images - 7);
    EXPECT_EQ(report.states, report.walk.generated) << "an origin is missing or there twice";

    report = run(judge, options);
    EXPECT_EQ(report.tested, 0u);
    EXPECT_EQ(judge.judged, images);

    // More states: only what is new.
    report = run(judge, options_of("none-all,random:5"));
    EXPECT_GT(report.tested, 0u);
    EXPECT_EQ(judge.judged, images + report.tested);
    EXPECT_EQ(report.all_verdicts.at("pass"), images + report.tested);
    EXPECT_TRUE(report.findings.empty());
    EXPECT_FALSE(report.found_bugs());
}

TEST(TestRun, StopsWhenItHasFoundEnough)
{
    MountJudge judge;
    judge.then = [&](const Subject &) {
        Judgement said;
        said.verdict = Verdict::inconsistent;
        said.evidence.push_back({"test", Verdict::inconsistent, "everything is wrong", {}});
        return said;
    };
    // Many more images than wait for a guest at any time.
    const std::string strategies = "none-all,random:50";
    TestOptions options = options_of(strategies);
    options.jobs = 1;
    options.restart = true;
    options.bugs = 1;
    TestReport report = run(judge, options);
    EXPECT_EQ(report.stop, TestStop::bugs);
    EXPECT_TRUE(report.found_bugs());
    EXPECT_LT(report.states, states_of(strategies));

    // What was found before counts.
    const std::uint64_t tested = report.tested;
    options.restart = false;
    report = run(judge, options);
    EXPECT_EQ(report.stop, TestStop::bugs);
    EXPECT_EQ(report.tested, 0u);
    EXPECT_EQ(report.all_verdicts.at("inconsistent"), tested);
}

TEST(TestRun, ConfirmsPassesInFreshGuests)
{
    MountJudge judge;
    TestOptions options = options_of("none-all");
    options.restart = true;
    options.limit = 6;
    options.confirm = 1;
    const TestReport report = run(judge, options);
    EXPECT_EQ(report.confirmed, 6u);
    EXPECT_EQ(report.disagreements, 0u);
    EXPECT_EQ(judge.judged, 12u);
    EXPECT_GE(report.workers.restores, 7u);
}

// The judge misses one store: wherever it was executed and is not in PM, something is wrong.
TEST(TestRun, FailuresBecomeFindingsWithEverythingToLookAt)
{
    const trace::TraceReader reader(recorded().files().trace());
    const image::InitialImage initial(reader);
    // The first store of the workload that is in flight at some crash point and changes its line.
    std::uint64_t seq = 0;
    std::uint64_t line = 0;
    std::uint64_t last_seq = 0; // at which it is in flight
    std::array<std::byte, 64> before = {};
    states::WalkOptions walk;
    walk.strategies = states::parse_strategies("none-all");
    image::Listener finder(initial, [&](const states::State &state, image::StateImages &images) {
        if (state.levels.base != states::Base::all || seq != 0)
            return true;
        std::vector<image::LineContent> lines;
        images.lines_in_flight(state, lines);
        for (const image::LineContent &each : lines) {
            const std::byte *guaranteed = images.images().guaranteed().line(each.line);
            if (state.point.seq > reader.event_count() / 2 &&
                std::memcmp(guaranteed, each.bytes.data(), 64) != 0) {
                seq = last_seq = state.point.seq;
                line = each.line;
                std::memcpy(before.data(), guaranteed, 64);
                return true;
            }
        }
        return true;
    });
    states::StateWalk(reader, walk).run(finder);
    ASSERT_NE(seq, 0u);

    MountJudge judge;
    std::atomic<unsigned> failed = 0;
    judge.then = [&](const Subject &subject) {
        Judgement said;
        said.kernel_log = "what the kernel said";
        std::array<char, 64> now = {};
        std::ifstream file(subject.pm_files[0]);
        file.seekg(static_cast<std::streamoff>(line * 64 - initial.regions()[0].base));
        file.read(now.data(), 64);
        if (subject.crash_seq == seq && std::memcmp(now.data(), before.data(), 64) == 0) {
            ++failed;
            said.verdict = Verdict::inconsistent;
            said.evidence.push_back(
                {"test", Verdict::inconsistent, "a line is missing", {{"seq", subject.crash_seq}}});
        }
        return said;
    };
    TestOptions options = options_of("none-all,random:20");
    options.restart = true;
    options.walk.window.first_seq = options.walk.window.last_seq = seq;
    const TestReport first = run(judge, options);
    // As a process leaves it that is killed before it has written the verdict.
    const auto lost = recorded().files().findings() / "0123456789ab";
    std::filesystem::create_directories(lost);
    options.restart = false;
    const TestReport report = run(judge, options);
    EXPECT_EQ(report.tested, 0u);
    EXPECT_EQ(report.findings.size(), first.findings.size());
    EXPECT_FALSE(std::filesystem::exists(lost));
    ASSERT_FALSE(report.findings.empty());
    EXPECT_TRUE(report.found_bugs());
    std::uint64_t images = 0;
    for (const Finding &finding : report.findings) {
        images += finding.images;
        EXPECT_EQ(finding.summary, "a line is missing");
        EXPECT_EQ(finding.decides, "absent");
        EXPECT_FALSE(finding.operation.empty());
        const auto directory = recorded().files().findings() / finding.id;
        const auto summary = nlohmann::json::parse(read_file(directory / "summary.json"));
        EXPECT_EQ(summary.at("images"), finding.images);
        EXPECT_EQ(summary.at("state"), finding.state);
        EXPECT_EQ(summary.at("evidence").at(0).at("details").at("seq"), seq);
        EXPECT_FALSE(summary.at("stack").empty());
        EXPECT_EQ(read_file(directory / "console.log"), "what the kernel said");
        EXPECT_EQ(image::read_delta(directory / "image.delta").state, finding.state);
    }
    EXPECT_EQ(images, report.all_verdicts.at("inconsistent"));
    EXPECT_EQ(failed, 2 * images) << "each failure is judged in a fresh guest too";
    // Those that lack nothing of the first finding's site, and so need another explanation, are
    // few.
    EXPECT_LE(report.findings.size(), 3u);
}

} // namespace
} // namespace fencepost::test
