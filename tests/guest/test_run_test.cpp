// SPDX-License-Identifier: GPL-2.0-or-later
// A whole test of a recorded run: what is tested, what is kept, what a second call goes on with.
#include <atomic>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "replayer/image/delta_file.h"
#include "tests/guest/recorded_run.h"
#include "tests/guest/whole_guest.h"
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

    void examine(const Subject &subject, Judgement &judgement) override
    {
        ++judged;
        const Deadline deadline = Deadline::after(std::chrono::minutes(2));
        judgement = then(subject);
        whole(subject.guest).with_agent([&](guest::AgentClient &agent) {
            EXPECT_TRUE(agent.mount({"/dev/pmem0", "/mnt/pm", "ext4", "dax"}, deadline));
            EXPECT_TRUE(agent.unmount("/mnt/pm", deadline));
        });
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
    image::Listener counter(initial, [&](const states::StateView &, image::StateImages &) {
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

// Whatever image it is, and whether the other worker has ended by then.
TEST(TestRun, TroubleWithTheLastImagesIsNotAnEnd)
{
    MountJudge all;
    TestOptions options = options_of("none-all");
    options.restart = true;
    options.limit = 6;
    const auto images = static_cast<unsigned>(run(all, options).tested);
    for (const unsigned jobs : {1u, 2u})
        for (unsigned back = 0; back < 4; ++back) {
            MountJudge judge;
            std::atomic<unsigned> calls = 0;
            judge.then = [&](const Subject &) {
                const unsigned call = ++calls;
                if (call > 2 * (images - back - 1)) // each image is judged twice
                    fail(ErrorKind::io, "the disk is full");
                return Judgement{};
            };
            options.jobs = jobs;
            options.confirm = 1;
            try {
                run(judge, options);
                ADD_FAILURE() << "nothing stopped it: " << jobs << " jobs, " << back;
            } catch (const Error &error) {
                EXPECT_STREQ(error.what(), "the disk is full");
            }
            // What was finished before is kept.
            Results results(
                recorded().files().results(),
                {trace::TraceReader(recorded().files().trace()).recording().event_digest, ""});
            const auto verdicts = results.verdicts();
            EXPECT_GE(verdicts.contains("pass") ? verdicts.at("pass") : 0,
                      images - back - 1 - jobs);
        }
}

// Nothing is left to test, and yet the time is over.
TEST(TestRun, KnownStatesTakeTimeToo)
{
    MountJudge judge;
    TestOptions options = options_of("random:300");
    options.restart = true;
    options.walk.window.last_epoch = 8;
    const TestReport first = run(judge, options);
    EXPECT_EQ(first.stop, TestStop::end);
    ASSERT_GT(first.states, 256u) << "so often the time is looked at";
    options.restart = false;
    options.duration = std::chrono::seconds(0);
    const TestReport report = run(judge, options);
    EXPECT_EQ(report.stop, TestStop::time);
    EXPECT_EQ(report.tested, 0u);
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

// The first store of the workload that is in flight at some crash point and changes its line.
struct MissedStore {
    std::uint64_t seq = 0; // the crash point
    std::uint64_t line = 0;
    std::array<std::byte, 64> before = {};

    // Whether the image of that crash point lacks it.
    bool is_missing(const Subject &subject, std::uint64_t pm_base) const
    {
        std::array<char, 64> now = {};
        std::ifstream file(subject.pm_files[0]);
        file.seekg(static_cast<std::streamoff>(line * 64 - pm_base));
        file.read(now.data(), 64);
        return subject.crash_seq == seq && std::memcmp(now.data(), before.data(), 64) == 0;
    }
};

MissedStore find_store_to_miss(const trace::TraceReader &reader, const image::InitialImage &initial)
{
    MissedStore found;
    states::WalkOptions walk;
    walk.strategies = states::parse_strategies("none-all");
    image::Listener finder(
        initial, [&](const states::StateView &state, image::StateImages &images) {
            if (state.levels.base != states::Base::all || found.seq != 0)
                return true;
            std::vector<image::LineContent> lines;
            images.lines_in_flight(state, lines);
            for (const image::LineContent &each : lines) {
                const std::byte *guaranteed = images.images().guaranteed().line(each.line);
                if (state.point.seq > reader.event_count() / 2 &&
                    std::memcmp(guaranteed, each.bytes.data(), 64) != 0) {
                    found.seq = state.point.seq;
                    found.line = each.line;
                    std::memcpy(found.before.data(), guaranteed, 64);
                    return true;
                }
            }
            return true;
        });
    states::StateWalk(reader, walk).run(finder);
    return found;
}

// A finding of a line that is missing at `seq`, and its files.
void expect_everything_to_look_at(const Finding &finding, std::uint64_t seq)
{
    EXPECT_EQ(finding.summary, "a line is missing");
    EXPECT_EQ(finding.decides, findings::Decides::absent);
    const findings::Place *absent = place_of(finding, findings::kAbsent);
    ASSERT_TRUE(absent);
    EXPECT_EQ(absent, &finding.places.front());
    EXPECT_FALSE(absent->operation.empty());
    EXPECT_FALSE(absent->at.code.function.empty());
    EXPECT_FALSE(absent->at.callers.empty());
    const auto directory = recorded().files().findings() / finding.id;
    const auto summary = nlohmann::json::parse(read_file(directory / "summary.json"));
    EXPECT_EQ(summary, report::to_json(finding)) << "also of one that an earlier test found";
    EXPECT_EQ(summary.at("evidence").at(0).at("details").at("seq"), seq);
    EXPECT_FALSE(place_of(finding, findings::kPresent));
    EXPECT_EQ(read_file(directory / "console.log"), "what the kernel said");
    EXPECT_EQ(image::read_delta(directory / "image.delta").state, finding.state);
}

// The judge misses one store: wherever it was executed and is not in PM, something is wrong.
TEST(TestRun, FailuresBecomeFindingsWithEverythingToLookAt)
{
    const trace::TraceReader reader(recorded().files().trace());
    const image::InitialImage initial(reader);
    const MissedStore missed = find_store_to_miss(reader, initial);
    ASSERT_NE(missed.seq, 0u);

    MountJudge judge;
    std::atomic<unsigned> failed = 0;
    judge.then = [&](const Subject &subject) {
        Judgement said;
        said.kernel_log = "what the kernel said";
        if (missed.is_missing(subject, initial.regions()[0].base)) {
            ++failed;
            said.verdict = Verdict::inconsistent;
            said.evidence.push_back({"test", Verdict::inconsistent, "a line is missing",
                                     oracle::Details(nlohmann::json{{"seq", subject.crash_seq}})});
        }
        return said;
    };
    TestOptions options = options_of("none-all,random:20");
    options.restart = true;
    options.walk.window.first_seq = options.walk.window.last_seq = missed.seq;
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
        images += finding.count;
        expect_everything_to_look_at(finding, missed.seq);
    }
    EXPECT_EQ(images, report.all_verdicts.at("inconsistent"));
    EXPECT_GE(failed, 2 * images) << "each failure is judged in a fresh guest too";
    EXPECT_LE(failed, 2 * images + first.probes);
    EXPECT_GT(first.probes, 0u);
    EXPECT_EQ(report.findings.size(), 1u) << "one store decides";
}

} // namespace
} // namespace fencepost::test
