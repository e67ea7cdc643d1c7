// SPDX-License-Identifier: GPL-2.0-or-later
// Workers whose guests crash, hang, reboot, talk nonsense or die: each costs one image, and none of
// it is a pass.
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pidfd.h"
#include "tests/guest/pool_fixture.h"

namespace fencepost::test {
namespace {

using oracle::Verdict;

void run_and_wait(const Subject &subject, const std::vector<std::string> &argv,
                  Deadline deadline = soon())
{
    whole(subject.guest).with_agent([&](AgentClient &agent) {
        RunRequest request;
        request.argv = argv;
        agent.run(request, deadline);
        for (;;)
            agent.ping(deadline);
    });
}

void kill_machine(const Subject &subject)
{
    syscall(SYS_pidfd_send_signal, whole(subject.guest).machine().end_fd(), SIGKILL, nullptr, 0);
    whole(subject.guest).with_agent([&](AgentClient &agent) {
        for (;;)
            agent.ping(soon());
    });
}

TEST_F(PoolTest, EveryImageIsWhatItShouldBeAfterAllThatGuestsWrote)
{
    std::atomic<unsigned> compared = 0;
    for (std::uint64_t i = 1; i <= 20; ++i)
        judge_.on(i, [&, i](const Subject &subject, unsigned) {
            EXPECT_TRUE(read_file(subject.pm_files[0]) == expected(i)) << "image " << i;
            ++compared;
            return ScriptedJudge::use_file_system(subject);
        });
    for (const auto &[image, outcome] : test(20, 2, true)) {
        EXPECT_EQ(outcome.judgement.verdict, Verdict::pass);
        EXPECT_TRUE(outcome.confirmed);
        EXPECT_FALSE(outcome.disagreed);
    }
    EXPECT_EQ(compared, 40u);
    EXPECT_EQ(judge_.prepared, counts_.restores);
    EXPECT_EQ(counts_.pm.full_compares, 0u) << "the kernel did not tell what guests touched";
}

// What an oracle said about the image is kept as evidence, so only the verdicts are looked at here.
TEST_F(PoolTest, GuestsThatEndCostOneImage)
{
    judge_.on(2, [](const Subject &subject, unsigned) -> Judgement {
        run_and_wait(subject, {"sh", "-c", "echo c > /proc/sysrq-trigger"});
        return {};
    });
    judge_.on(4, [](const Subject &subject, unsigned) -> Judgement {
        run_and_wait(subject, {"sh", "-c", "while :; do :; done"},
                     Deadline::after(std::chrono::seconds(1)));
        return {};
    });
    judge_.on(6, [](const Subject &subject, unsigned) -> Judgement {
        run_and_wait(subject, {"reboot", "-f"});
        return {};
    });
    judge_.on(8, [](const Subject &subject, unsigned) -> Judgement {
        whole(subject.guest).with_agent([&](AgentClient &agent) {
            EXPECT_TRUE(
                agent.write_whole_file("/tmp/garbage", read_file(CHANNEL_GARBAGE), 0755, soon()));
        });
        run_and_wait(subject, {"/tmp/garbage"});
        return {};
    });
    judge_.on(10, [](const Subject &subject, unsigned times) -> Judgement {
        if (times == 1)
            kill_machine(subject);
        return ScriptedJudge::use_file_system(subject);
    });
    judge_.on(12, [](const Subject &subject, unsigned) -> Judgement {
        kill_machine(subject);
        return {};
    });
    const auto outcomes = test(13);
    const std::map<std::uint64_t, Verdict> wanted = {{2, Verdict::guest_crash},
                                                     {4, Verdict::guest_hang},
                                                     {6, Verdict::guest_crash},
                                                     {8, Verdict::infra_error},
                                                     {12, Verdict::infra_error}};
    for (const auto &[image, outcome] : outcomes) {
        const auto known = wanted.find(image);
        EXPECT_STREQ(to_string(outcome.judgement.verdict),
                     to_string(known == wanted.end() ? Verdict::pass : known->second))
            << "image " << image;
        EXPECT_EQ(outcome.lost_guests, known != wanted.end() ? 2u
                                       : image == 10         ? 1u
                                                             : 0u)
            << "image " << image;
        EXPECT_EQ(outcome.judgement.evidence.empty(), known == wanted.end()) << "image " << image;
    }
    EXPECT_EQ(counts_.lost_guests, 11u);
}

TEST_F(PoolTest, AVerdictThatAFreshGuestDoesNotShareIsAnInfraError)
{
    judge_.on(2, [](const Subject &, unsigned times) {
        Judgement said;
        if (times == 1) {
            said.verdict = Verdict::inconsistent;
            said.evidence.push_back({"test", Verdict::inconsistent, "only once", {}});
        }
        return said;
    });
    judge_.on(3, [](const Subject &, unsigned) {
        Judgement said;
        said.verdict = Verdict::recovery_failed;
        said.evidence.push_back({"test", Verdict::recovery_failed, "always", {}});
        return said;
    });
    // A crash that does not come again is not a pass either.
    judge_.on(4, [](const Subject &subject, unsigned times) -> Judgement {
        if (times == 1)
            run_and_wait(subject, {"reboot", "-f"});
        return {};
    });
    const auto outcomes = test(5);
    EXPECT_EQ(outcomes.at(1).judgement.verdict, Verdict::pass);
    EXPECT_EQ(outcomes.at(2).judgement.verdict, Verdict::infra_error);
    EXPECT_TRUE(outcomes.at(2).disagreed);
    EXPECT_EQ(outcomes.at(3).judgement.verdict, Verdict::recovery_failed);
    EXPECT_TRUE(outcomes.at(3).confirmed);
    EXPECT_EQ(outcomes.at(4).judgement.verdict, Verdict::infra_error);
    EXPECT_TRUE(outcomes.at(4).disagreed);
    EXPECT_EQ(outcomes.at(5).judgement.verdict, Verdict::pass);
}

// The first guest is lost for a reason that says nothing; the second keeps its mount.
TEST_F(PoolTest, ASpentGuestIsNotGivenAnotherImage)
{
    const std::string left = "/mnt/pm/of-image-2";
    judge_.on(2, [&](const Subject &subject, unsigned times) -> Judgement {
        if (times == 1)
            kill_machine(subject);
        whole(subject.guest).with_agent([&](AgentClient &agent) {
            EXPECT_TRUE(agent.mount({"/dev/pmem0", "/mnt/pm", "ext4", "dax"}, soon()));
            EXPECT_TRUE(agent.write_whole_file(left, "x", 0644, soon()));
        });
        Judgement said;
        said.verdict = Verdict::inconsistent;
        said.guest_spent = true;
        said.evidence.push_back({"mount", Verdict::inconsistent, "cannot be unmounted", {}});
        return said;
    });
    judge_.on(3, [&](const Subject &subject, unsigned) -> Judgement {
        whole(subject.guest).with_agent([&](AgentClient &agent) {
            EXPECT_FALSE(agent.read_whole_file(left, 1000, soon()));
        });
        return {};
    });
    const auto outcomes = test(3);
    EXPECT_EQ(outcomes.at(2).judgement.verdict, Verdict::inconsistent);
    EXPECT_TRUE(outcomes.at(2).confirmed);
    EXPECT_EQ(judge_.times(2), 3u) << "one guest's word for a failure is not enough";
    EXPECT_EQ(outcomes.at(3).judgement.verdict, Verdict::pass);
}

// Takes PM out of QEMU's page table, as the kernel does when memory runs short.
void reclaim_pm(const Subject &subject)
{
    std::ifstream maps(
        fmt::format("/proc/{}/maps", pid_of(whole(subject.guest).machine().end_fd()).value()));
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        if (!line.ends_with(subject.pm_files[0].string()) ||
            std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
            continue;
        iovec range = {reinterpret_cast<void *>(start), end - start};
        EXPECT_GE(syscall(SYS_process_madvise, whole(subject.guest).machine().end_fd(), &range, 1,
                          MADV_PAGEOUT, 0),
                  0);
    }
}

TEST_F(PoolTest, PagesThatTheKernelTookBackAreNotForgotten)
{
    std::atomic<unsigned> wrong = 0;
    for (std::uint64_t i = 1; i <= 10; ++i)
        judge_.on(i, [&, i](const Subject &subject, unsigned) {
            wrong += read_file(subject.pm_files[0]) != expected(i);
            Judgement said = ScriptedJudge::use_file_system(subject);
            if (i == 3)
                reclaim_pm(subject);
            return said;
        });
    test(10, 1, false, 1);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GE(counts_.pm.full_compares, 1u);
}

// Somebody writes to PM behind the worker's back: verdicts that it may have spoilt are taken back.
TEST_F(PoolTest, PmThatOthersWroteToDiscreditsWhatWasTestedOnIt)
{
    judge_.on(2, [](const Subject &subject, unsigned) {
        const Fd file = open_file(subject.pm_files[0], O_RDWR);
        const char bytes[] = "not the guest's";
        EXPECT_EQ(pwrite(file.get(), bytes, sizeof bytes, 20 << 20), ssize_t{sizeof bytes});
        return Judgement{};
    });
    const WorkerPlan plan = {world_.store(), world_.source(), initial(), judge_, directory()};
    WorkerPool pool(plan, 1, first());
    for (std::uint64_t i = 1; i <= 3; ++i)
        pool.submit(assignment(i));
    pool.close();
    unsigned doubtful = 0;
    while (!pool.done()) {
        pool.wait_finished(std::chrono::seconds(1));
        for (const Outcome &outcome : pool.take_finished().outcomes)
            doubtful += outcome.judgement.verdict == Verdict::infra_error;
    }
    EXPECT_GE(doubtful, 2u);
    EXPECT_EQ(pool.counts().failed_audits, 1u);
}

TEST_F(PoolTest, TroubleOfTheMachineStopsThePoolWithItsWords)
{
    judge_.on(
        3, [](const Subject &, unsigned) -> Judgement { fail(ErrorKind::io, "the disk is full"); });
    try {
        test(50);
        FAIL() << "nothing stopped it";
    } catch (const Error &error) {
        EXPECT_STREQ(error.what(), "the disk is full");
    }
}

Judgement wrong(const std::string &summary, Verdict verdict = Verdict::inconsistent)
{
    Judgement said;
    said.verdict = verdict;
    said.evidence.push_back({"test", verdict, summary, {}});
    return said;
}

// Whatever happens to the guest that is asked why: the verdict stays, and the next image is what it
// should be.
TEST_F(PoolTest, FailuresAreExplainedByImagesLikeThem)
{
    knows_stores_ = true;
    const auto judge = [this](const Subject &subject, std::uint64_t i) {
        const bool fails = is_out_of_order(subject, i);
        ScriptedJudge::use_file_system(subject);
        return fails ? wrong("out of order") : Judgement{};
    };
    constexpr unsigned kFirstProbe = 3; // after the warm guest and the fresh one
    for (std::uint64_t i = 1; i <= 7; ++i)
        judge_.on(i, [=](const Subject &subject, unsigned times) -> Judgement {
            if (i == 3 && times == kFirstProbe)
                kill_machine(subject);
            if (i == 4 && times == kFirstProbe)
                fail(ErrorKind::io, "the disk is full");
            if (i == 5 && times == kFirstProbe) {
                Judgement spent = judge(subject, i);
                spent.guest_spent = true;
                return spent;
            }
            if (i == 6 && times == kFirstProbe - 1)
                return wrong("something else");
            if (i == 7 && times == kFirstProbe)
                return wrong("no answer", Verdict::guest_hang);
            return judge(subject, i);
        });
    for (std::uint64_t i = 8; i <= 10; ++i)
        judge_.on(i, [=, this](const Subject &subject, unsigned) {
            EXPECT_TRUE(read_file(subject.pm_files[0]) == expected(i)) << "image " << i;
            return ScriptedJudge::use_file_system(subject);
        });
    for (const auto &[image, outcome] : test(10)) {
        EXPECT_STREQ(to_string(outcome.judgement.verdict), image < 8 ? "inconsistent" : "pass");
        EXPECT_FALSE(outcome.disagreed);
        EXPECT_EQ(outcome.repeats, image != 6) << image;
        EXPECT_EQ(answers_.contains(image), image < 8 && image != 6) << image;
        if (!answers_.contains(image))
            continue;
        const Answer &answer = answers_.at(image);
        const auto &decided = answer.decided;
        EXPECT_EQ(decided.has_value(), image == 1 || image == 2 || image == 5) << image;
        EXPECT_EQ(answer.gave_up, image == 4) << image;
        if (!decided)
            continue;
        ASSERT_TRUE(decided->absent && decided->present) << image;
        EXPECT_EQ(decided->absent->site, 1u);
        EXPECT_EQ(decided->present->site, 2u);
        EXPECT_EQ(answer.probes.size(), 2u);
    }
}

class LibvirtPoolTest : public PoolTest {
protected:
    LibvirtPoolTest() : PoolTest("libvirt") {}
};

TEST_F(LibvirtPoolTest, WorksAndReplacesLostGuests)
{
    judge_.on(3, [](const Subject &subject, unsigned) -> Judgement {
        run_and_wait(subject, {"reboot", "-f"});
        return {};
    });
    judge_.on(5, [](const Subject &subject, unsigned times) -> Judgement {
        if (times == 1)
            kill_machine(subject);
        return ScriptedJudge::use_file_system(subject);
    });
    for (const auto &[image, outcome] : test(8, 2))
        EXPECT_STREQ(to_string(outcome.judgement.verdict), image == 3 ? "guest_crash" : "pass")
            << image;
    EXPECT_EQ(counts_.pm.full_compares, 0u);
}

} // namespace
} // namespace fencepost::test
