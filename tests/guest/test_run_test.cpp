// SPDX-License-Identifier: GPL-2.0-or-later
// A whole test of a recorded run: what is tested, what is kept, what a second call goes on with.
#include <atomic>
#include <cstring>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "replayer/image/delta_file.h"
#include "replayer/states/missing.h"
#include "tests/guest/recorded_run.h"
#include "tests/states/image_listener.h"
#include "trace/code_names.h"

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

// Whatever image it is, and whether the other worker has ended by then.
TEST(TestRun, TroubleWithTheLastImagesIsNotAnEnd)
{
    const auto failure = [](unsigned call) {
        Judgement said;
        said.verdict = Verdict::inconsistent;
        said.evidence.push_back({"test", Verdict::inconsistent, fmt::format("wrong {}", call), {}});
        return said;
    };
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
                if (call > 2 * (images - back - 1)) // each failure is judged twice
                    fail(ErrorKind::io, "the disk is full");
                return failure((call + 1) / 2);
            };
            options.jobs = jobs;
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
            EXPECT_GE(verdicts.contains("inconsistent") ? verdicts.at("inconsistent") : 0,
                      images - back - 1 - jobs);
        }
}

// Nothing is left to test, and yet the time is over.
TEST(TestRun, KnownStatesTakeTimeToo)
{
    MountJudge judge;
    TestOptions options = options_of("random:300");
    options.restart = true;
    options.walk.window.last_epoch = 0;
    EXPECT_EQ(run(judge, options).stop, TestStop::end);
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

using Missing = std::vector<states::MissingStore>;

bool lacks(const Missing &missing, trace::SiteId site)
{
    return std::any_of(missing.begin(), missing.end(),
                       [&](const states::MissingStore &each) { return each.site == site; });
}

// The stores that each image lacks, in the order in which images are tested.
std::vector<Missing> missing_of_images(const trace::TraceReader &reader,
                                       const states::WalkOptions &options)
{
    std::vector<Missing> found;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    const image::InitialImage initial(reader);
    image::Listener listener(initial, [&](const states::State &state, image::StateImages &images) {
        const image::Hash128 identity = images.hash(state);
        if (seen.emplace(identity.low, identity.high).second)
            found.push_back(states::missing_stores(state, listener.in_flight()));
        return true;
    });
    states::StateWalk(reader, options).run(listener);
    return found;
}

// The second failing image lacks no store of the site that the first one was shown with.
TEST(TestRun, AFindingIsShownByAnImageThatLacksItsSite)
{
    const trace::TraceReader reader(recorded().files().trace());
    TestOptions options = options_of("subsets:1");
    options.restart = true;
    options.jobs = 1;
    // An epoch whose first image lacks stores of several sites, and a later one not those of the
    // first site.
    std::size_t second = 0;
    states::MissingStore left;
    for (std::uint64_t epoch = 0; second == 0; ++epoch) {
        options.walk.window = {.first_epoch = epoch, .last_epoch = epoch};
        const std::vector<Missing> missing = missing_of_images(reader, options.walk);
        ASSERT_FALSE(missing.empty()) << "there is no such epoch";
        for (std::size_t i = 1; i < missing.size() && second == 0; ++i)
            if (!missing[i].empty() && !lacks(missing[i], missing[0].at(0).site) &&
                lacks(missing[0], missing[i][0].site)) {
                second = i;
                left = missing[i][0];
            }
    }

    MountJudge judge;
    std::size_t image = 0;
    bool again = false; // a failure is judged twice
    judge.then = [&](const Subject &) {
        Judgement said;
        if (image == 0 || image == second) {
            said.verdict = Verdict::inconsistent;
            said.evidence.push_back({"test", Verdict::inconsistent, "wrong", {{"image", image}}});
            again = !again;
        }
        image += !again;
        return said;
    };
    options.limit = second + 1;
    const TestReport report = run(judge, options);
    ASSERT_EQ(report.findings.size(), 1u);
    const Finding &finding = report.findings[0];
    EXPECT_EQ(finding.images, 2u);
    EXPECT_EQ(finding.site, left.site);
    trace::CodeNames names(reader);
    const auto summary = nlohmann::json::parse(
        read_file(recorded().files().findings() / finding.id / "summary.json"));
    EXPECT_EQ(summary.at("images"), 2);
    EXPECT_EQ(summary.at("state"), finding.state);
    EXPECT_EQ(summary.at("site"), names.site(left.site));
    EXPECT_EQ(summary.at("stack"), nlohmann::json(names.stack(left.stack)));
    EXPECT_EQ(summary.at("evidence").at(0).at("details").at("image"), second);
}

} // namespace
} // namespace fencepost::test
