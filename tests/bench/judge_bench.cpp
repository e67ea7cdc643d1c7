// SPDX-License-Identifier: GPL-2.0-or-later
// What images cost whose guests crash, hang or fail to mount. usage: judge_bench [--smoke]
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "tests/guest/moody_guest.h"

namespace fencepost::test {

using namespace guest;
namespace {

double cost(const Outcome &outcome)
{
    return outcome.judge_seconds + outcome.restore_seconds + outcome.patch_seconds;
}

void require(const Outcome &outcome, oracle::Verdict verdict)
{
    if (outcome.judgement.verdict != verdict)
        fail(ErrorKind::guest, "{} instead of {}", to_string(outcome.judgement.verdict),
             to_string(verdict));
}

void row(const char *name, double seconds, const std::string &budget)
{
    std::printf("%-52s %9.2f s%s\n", name, seconds, budget.c_str());
}

std::string budget(double most, double seconds)
{
    return fmt::format("  (budget < {:.1f} s: {})", most, seconds < most ? "met" : "NOT met");
}

void run(std::uint32_t limit, int more)
{
    using oracle::Verdict;
    MoodyWorker worker(limit);
    require(worker.test(' '), Verdict::pass);
    double warm = 0;
    for (int i = 0; i < 20; ++i) {
        const Outcome healthy = worker.test(' ');
        require(healthy, Verdict::pass);
        warm += cost(healthy);
    }
    row("a healthy image in a warm guest", warm / 20, "");
    const Outcome oops = worker.test('x');
    require(oops, Verdict::guest_crash);
    row("an oops in a thread, with its confirmation", cost(oops), budget(2, cost(oops)));
    // The oops took the warm guest with it. A per cent for what is beside the waiting.
    const auto patience = worker.hangs().patience(HangWatch::GuestKind::restored);
    const double brief = std::chrono::duration<double>(patience.value()).count();
    row("the limits of a hang: called after", brief, "");
    row("  confirmed with test.time_limit", limit, "");
    const double most = 1.01 * (static_cast<double>(limit) + brief);
    const Outcome hang = worker.test('h');
    require(hang, Verdict::guest_hang);
    row("the first hang", hang.judge_seconds, budget(most, hang.judge_seconds));
    row("  and restoring two guests for it", hang.restore_seconds, "");
    double hangs = 0;
    for (int i = 0; i < more; ++i) {
        const Outcome again = worker.test('h');
        require(again, Verdict::guest_hang);
        hangs += cost(again);
    }
    row(fmt::format("{} more of the same hang, together", more).c_str(), hangs,
        more == 20 ? budget(limit, hangs) : "");
    double failed = 0;
    for (int i = 0; i < 5; ++i) {
        const Outcome failure = worker.test('f');
        require(failure, Verdict::recovery_failed);
        failed += cost(failure);
    }
    row("a failed mount, with its confirmation", failed / 5, "");
    std::printf("%-52s %9llu\n", "guests thrown away after a failed mount or complaint",
                static_cast<unsigned long long>(worker.counts().discarded_guests));
}

} // namespace
} // namespace fencepost::test

int main(int argc, char **argv)
{
    const bool smoke = argc == 2 && !std::strcmp(argv[1], "--smoke");
    try {
        smoke ? fencepost::test::run(5, 2) : fencepost::test::run(60, 20);
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "judge_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
