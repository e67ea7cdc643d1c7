// SPDX-License-Identifier: GPL-2.0-or-later
// Warm workers against fresh restores, what the harness costs, two workers against one, and memory
// over many images. usage: test_bench [--smoke | --long]. `--long` tests 20,000 images; its ratios
// are those of the plain run.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/guest/recorded_run.h"
#include "tests/guest/world.h"

namespace fencepost::test {
namespace {

struct Effort {
    std::uint64_t warm = 400;
    std::uint64_t fresh = 15;
    std::uint64_t many = 0;
};

// Has every state tested, whether its image was seen before or not: a small workload has too few
// images.
class EveryState : public oracle::Judge {
public:
    explicit EveryState(std::unique_ptr<oracle::Judge> judge) : judge_(std::move(judge)) {}

    void prepare(guest::Guest &guest) override { judge_->prepare(guest); }
    std::uint64_t expectation(std::uint64_t) const override { return ++count_; }
    oracle::Judgement judge(const oracle::Subject &subject) override
    {
        return judge_->judge(subject);
    }

private:
    std::unique_ptr<oracle::Judge> judge_;
    mutable std::atomic<std::uint64_t> count_ = 0;
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

// Rounds that so many threads, which share nothing, do in a second or two: no workers gain more.
double busy_loops(unsigned threads)
{
    std::atomic<bool> over = false;
    std::vector<std::uint64_t> rounds(threads * 64); // a line apart and more
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < threads; ++i)
        busy.emplace_back([&over, &mine = rounds[i * 64]] {
            std::uint64_t value = 1;
            while (!over.load(std::memory_order_relaxed)) {
                for (int step = 0; step < 1000; ++step)
                    value = value * 6364136223846793005u + 1442695040888963407u;
                mine += value != 0;
            }
        });
    std::this_thread::sleep_for(std::chrono::seconds(2));
    over = true;
    for (std::thread &each : busy)
        each.join();
    double all = 0;
    for (const std::uint64_t each : rounds)
        all += static_cast<double>(each);
    return all;
}

void run(const Effort &effort)
{
    RecordedRun recorded(kSmallSpec);
    EveryState judge(recorded.judge({"mount", "semantic", "usable"}));
    const auto test = [&](const TestOptions &options,
                          const std::function<void(const TestProgress &)> &progress = {}) {
        TestReport report = test_run(recorded.files(), recorded.guest(), judge, options, progress);
        require_passes(report, options.limit);
        return report;
    };
    TestOptions fresh_options = options_for(effort.fresh, 1);
    fresh_options.always_fresh = true;
    const TestReport fresh = test(fresh_options);
    const TestReport one = test(options_for(effort.warm, 1));
    const TestReport two = test(options_for(effort.warm, 2));
    row("fresh guests, one worker", rate(fresh), "images/s");
    row("warm guest, one worker", rate(one), "images/s");
    const double gain = rate(one) / rate(fresh);
    row("warm faster than fresh", gain, "×" + budget("≥ 10×", gain >= 10));
    const double harness =
        (one.seconds - one.restore_seconds - one.judge_seconds) / one.judge_seconds;
    row("harness beyond the guest's own time, one worker", 100 * harness,
        "%" + budget("≤ 25 %", harness <= 0.25));
    row("  of it patching and undoing PM", 100 * one.patch_seconds / one.judge_seconds, "%");
    row("warm guests, two workers", rate(two), "images/s");
    row("two workers against one", rate(two) / rate(one),
        "×" + budget("≥ 1.7×", rate(two) / rate(one) >= 1.7));
    const double alone = busy_loops(1);
    row("  what this machine gives two busy loops", busy_loops(2) / alone, "× of one");
    if (effort.many == 0)
        return;
    std::uint64_t early = 0;
    std::uint64_t most = 0;
    const TestReport many = test(options_for(effort.many, 2), [&](const TestProgress &now) {
        most = std::max(most, memory_bytes());
        if (early == 0 && now.tested >= effort.many / 20)
            early = memory_bytes();
    });
    row("images of the long run", static_cast<double>(many.tested), "");
    row("  rate, two workers", rate(many), "images/s");
    row("  memory after a twentieth of them", static_cast<double>(early) / (1 << 20), "MiB");
    row("  memory at most", static_cast<double>(most) / (1 << 20), "MiB");
    row("  machines left running",
        static_cast<double>(guest::machines_using(recorded.guest().source().directory).size()), "");
}

} // namespace
} // namespace fencepost::test

int main(int argc, char **argv)
{
    using namespace fencepost::test;
    Effort effort;
    if (argc == 2 && !std::strcmp(argv[1], "--smoke"))
        effort = {60, 3, 0};
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
