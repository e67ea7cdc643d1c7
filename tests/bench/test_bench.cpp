// SPDX-License-Identifier: GPL-2.0-or-later
// Estimates of the time left, how exactly a test ends when its time is over, warm workers against
// fresh restores, what the harness costs, two workers against one, and memory over many images.
// usage: test_bench [--smoke | --long]. `--long` tests 20,000 images; its ratios are those of the
// plain run.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>

#include "tests/guest/recorded_run.h"
#include "tests/guest/world.h"

namespace fencepost::test {
namespace {

struct Effort {
    std::uint64_t warm = 1000;
    std::uint64_t fresh = 15;
    std::uint64_t many = 0;
    const char *strategies = "returns,torn,prefix,none-all,subsets:1,random:10"; // for estimates
    std::chrono::seconds time{12};
    unsigned rounds = 5; // of one worker and two; one after the other, because machines change
};

// Has every state tested, whether its image was seen before or not: a small workload has too few
// images.
class EveryState : public oracle::Judge {
public:
    explicit EveryState(std::unique_ptr<oracle::Judge> judge) : judge_(std::move(judge)) {}

    void prepare(guest::JudgedGuest &guest) override { judge_->prepare(guest); }
    bool has_baseline() const override { return judge_->has_baseline(); }
    void mask(const std::vector<oracle::Evidence> &objections) override
    {
        judge_->mask(objections);
    }
    void expect_space(const std::vector<agent::SpaceUse> &healthy) override
    {
        judge_->expect_space(healthy);
    }
    std::uint64_t expectation(std::uint64_t) const override { return ++count_; }

protected:
    void examine(const oracle::Subject &subject, oracle::Judgement &judgement) override
    {
        judgement = judge_->judge(subject);
    }

    std::unique_ptr<oracle::Judge> judge_;
    mutable std::atomic<std::uint64_t> count_ = 0;
};

// Objects to one crash point in three: failures to be explained and minimized.
class OftenWrong : public EveryState {
public:
    using EveryState::EveryState;

private:
    void examine(const oracle::Subject &subject, oracle::Judgement &judgement) override
    {
        EveryState::examine(subject, judgement);
        if (subject.crashed && subject.crash_seq % 3 == 0)
            add_evidence(judgement, {"usable",
                                     oracle::Verdict::inconsistent,
                                     fmt::format("wrong at {}", subject.crash_seq),
                                     {}});
    }
};

// Runs of lines stay together: ext4 needs sectors whole, and a failure costs a fresh guest.
TestOptions options_for(std::uint64_t limit, unsigned jobs)
{
    TestOptions options;
    options.walk.strategies = states::parse_strategies("none-all,random:1000");
    options.limit = limit;
    options.jobs = jobs;
    options.confirm = 0;
    options.restart = true;
    return options;
}

std::uint64_t memory_bytes()
{
    std::ifstream numbers("/proc/self/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    std::uint64_t shared = 0;
    numbers >> total >> resident >> shared;
    return (resident - shared) * 4096;
}

double rate(const TestReport &report)
{
    return static_cast<double>(report.tested) / report.seconds;
}

void require_passes(const TestReport &report, std::uint64_t tested)
{
    if (report.tested != tested || report.verdicts.size() != 1 || !report.verdicts.contains("pass"))
        fail(ErrorKind::guest, "not everything was tested and passed");
}

void row(const char *name, double value, const std::string &unit)
{
    std::printf("%-52s %9.2f %s\n", name, value, unit.c_str());
}

std::string budget(const char *text, bool met)
{
    return fmt::format("  (budget {}: {})", text, met ? "met" : "NOT met");
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

enum class Checks { none, after };

// A recorded workload, and tests of it in which nothing may fail.
class Bench {
public:
    TestReport test(
        const TestOptions &options, Checks checks = Checks::none,
        const std::function<void(const TestProgress &)> &progress = [](const TestProgress &) {})
    {
        TestReport report =
            test_run(run_.files(), run_.guest(), checks == Checks::none ? judge_ : checking_judge_,
                     options, progress);
        require_passes(report, options.limit);
        return report;
    }
    // To its end; the states are those of the strategies, each image once.
    TestReport test_all(const char *strategies,
                        const std::function<void(const TestProgress &)> &progress)
    {
        TestOptions options = options_for(UINT64_MAX, 2);
        options.walk.strategies = states::parse_strategies(strategies);
        const std::unique_ptr<oracle::Judge> judge = run_.judge({"mount", "semantic", "usable"});
        return test_run(run_.files(), run_.guest(), *judge, options, progress);
    }
    TestReport test_for(std::chrono::seconds time, bool often_wrong)
    {
        TestOptions options = options_for(UINT64_MAX, 2);
        options.walk.strategies = states::parse_strategies("none-all,random:100");
        options.duration = time;
        options.minimize = time;
        return test_run(run_.files(), run_.guest(), often_wrong ? wrong_judge_ : judge_, options,
                        [](const TestProgress &) {});
    }
    std::size_t machines_left() const
    {
        return guest::machines_using(run_.guest().source().directory).size();
    }

private:
    RecordedRun run_{kSmallSpec};
    // What guests do; and with the file system's own check on the host after each image.
    EveryState judge_{run_.judge({"mount", "semantic", "usable"}, false)};
    OftenWrong wrong_judge_{run_.judge({"mount", "semantic", "usable"}, false)};
    EveryState checking_judge_{run_.judge({"mount", "semantic", "usable"})};
};

// Images a second of two tests at once that share nothing but the machine: what two workers of one
// test are to be measured by.
double rate_apart(Bench &left, Bench &right, const TestOptions &options)
{
    auto other = std::async(std::launch::async, [&] { return rate(right.test(options)); });
    const double mine = rate(left.test(options));
    return mine + other.get();
}

void compare_fresh(Bench &bench, const Effort &effort)
{
    TestOptions fresh_options = options_for(effort.fresh, 1);
    fresh_options.always_fresh = true;
    const TestReport fresh = bench.test(fresh_options);
    const TestReport warm = bench.test(options_for(effort.warm, 1));
    row("fresh guests, one worker", rate(fresh), "images/s");
    row("warm guest, one worker", rate(warm), "images/s");
    const double gain = rate(warm) / rate(fresh);
    row("warm faster than fresh", gain, "×" + budget("≥ 10×", gain >= 10));
    const double harness =
        (warm.seconds - warm.restore_seconds - warm.guest_seconds) / warm.guest_seconds;
    row("harness beyond the guest's own time, one worker", 100 * harness,
        "%" + budget("≤ 25 %", harness <= 0.25));
    row("  of it patching and undoing PM", 100 * warm.patch_seconds / warm.guest_seconds, "%");
    const TestReport checked = bench.test(options_for(effort.warm / 4, 1), Checks::after);
    row("warm guest, and fsck after each image", rate(checked), "images/s");
}

void compare_workers(Bench &bench, const Effort &effort)
{
    Bench second;
    std::vector<double> pooled;
    std::vector<double> apart;
    for (unsigned round = 0; round < effort.rounds; ++round) {
        const double one = rate(bench.test(options_for(effort.warm, 1)));
        const double two = rate(bench.test(options_for(effort.warm, 2)));
        pooled.push_back(two / one);
        apart.push_back(rate_apart(bench, second, options_for(effort.warm / 2, 1)) / one);
        std::printf("  round %u: one worker %.1f, two %.1f images/s\n", round + 1, one, two);
    }
    // In a few images both workers mostly start.
    row("two workers against one, median of the rounds", median(pooled),
        "×" + (effort.rounds == 1 ? "" : budget("≥ 1.7×", median(pooled) >= 1.7)));
    row("  two tests that share only the machine", median(apart), "×");
    row("  a worker's first image, restore included", bench.test(options_for(1, 1)).seconds, "s");
}

void test_many(Bench &bench, std::uint64_t images)
{
    std::uint64_t early = 0;
    std::uint64_t most = 0;
    const TestReport many =
        bench.test(options_for(images, 2), Checks::none, [&](const TestProgress &now) {
            most = std::max(most, memory_bytes());
            if (early == 0 && now.tested >= images / 20)
                early = memory_bytes();
        });
    row("images of the long run", static_cast<double>(many.tested), "");
    row("  rate, two workers", rate(many), "images/s");
    row("  memory after a twentieth of them", static_cast<double>(early) / (1 << 20), "MiB");
    row("  memory at most", static_cast<double>(most) / (1 << 20), "MiB");
    row("  machines left running", static_cast<double>(bench.machines_left()), "");
}

// From a tenth of the test on, every second: the time that was said to be left against what was.
void hold_estimates(Bench &bench, const char *strategies)
{
    std::vector<TestProgress> said;
    const TestReport report =
        bench.test_all(strategies, [&](const TestProgress &now) { said.push_back(now); });
    double worst = 1;
    std::size_t without = 0;
    for (const TestProgress &each : said) {
        const double left = report.seconds - each.seconds;
        if (each.seconds < report.seconds / 10 || left < report.seconds / 10)
            continue;
        if (!each.seconds_left) {
            ++without;
            continue;
        }
        const double estimate = std::max(*each.seconds_left, 0.01);
        worst = std::max({worst, estimate / left, left / estimate});
    }
    row("estimates of the time left, worst factor", worst, "×" + budget("≤ 2×", worst <= 2));
    std::printf("  %zu estimates, %zu times none, %.1f s, %llu images\n", said.size(), without,
                report.seconds, static_cast<unsigned long long>(report.tested));
}

// Without its start: guests and the baseline are ready when the time begins.
void end_in_time(Bench &bench, std::chrono::seconds time)
{
    for (const bool often_wrong : {false, true}) {
        const auto start = std::chrono::steady_clock::now();
        const TestReport report = bench.test_for(time, often_wrong);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (report.stop != TestStop::time)
            fail(ErrorKind::guest, "the test was over before its time");
        const double late = report.seconds + report.minimize_seconds - time.count();
        row(often_wrong ? "  with failures to explain and to minimize"
                        : "late, of a test for a time",
            late, std::string("s").append(budget("≤ 2 s", std::abs(late) <= 2)));
        std::printf("  %llu images, %zu findings, %.1f s in all\n",
                    static_cast<unsigned long long>(report.tested), report.findings.size(),
                    took.count());
    }
}

void run(const Effort &effort)
{
    Bench bench;
    hold_estimates(bench, effort.strategies);
    end_in_time(bench, effort.time);
    compare_fresh(bench, effort);
    compare_workers(bench, effort);
    if (effort.many != 0)
        test_many(bench, effort.many);
}

} // namespace
} // namespace fencepost::test

int main(int argc, char **argv)
{
    using namespace fencepost::test;
    Effort effort;
    if (argc == 2 && !std::strcmp(argv[1], "--smoke"))
        effort = {60, 3, 0, "none-all,random:4", std::chrono::seconds(6), 1};
    else if (argc == 2 && !std::strcmp(argv[1], "--long"))
        effort.many = 20000;
    try {
        run(effort);
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "test_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
