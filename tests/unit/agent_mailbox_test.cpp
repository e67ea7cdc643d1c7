// SPDX-License-Identifier: GPL-2.0-or-later
// The mailbox believes nothing that the other side wrote; its messages survive the way there.
#include "guest-images/agent/mailbox.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "guest-images/agent/job.h"

namespace fencepost::agent {
namespace {

class MailboxTest : public testing::Test {
protected:
    MailboxTest() : mailbox_(memory_) { mailbox_.clear(); }

    template <typename Field> void overwrite(std::size_t offset, Field value)
    {
        std::memcpy(memory_.data() + offset, &value, sizeof value);
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(kMailboxBytes);
    Mailbox mailbox_;
};

TEST_F(MailboxTest, CarriesMessagesBothWays)
{
    EXPECT_TRUE(mailbox_.valid());
    EXPECT_EQ(mailbox_.state(), MailboxState::empty);
    ASSERT_TRUE(mailbox_.put(MailboxPart::request, "do this"));
    ASSERT_TRUE(mailbox_.put(MailboxPart::answer, std::string("done\0!", 6)));
    mailbox_.set_state(MailboxState::finished);
    EXPECT_EQ(mailbox_.take(MailboxPart::request), "do this");
    EXPECT_EQ(mailbox_.take(MailboxPart::answer), std::string("done\0!", 6));
    EXPECT_EQ(mailbox_.state(), MailboxState::finished);
}

TEST_F(MailboxTest, RefusesWhatDoesNotFit)
{
    const std::string largest(Mailbox::capacity(MailboxPart::answer), 'x');
    EXPECT_TRUE(mailbox_.put(MailboxPart::answer, largest));
    EXPECT_EQ(mailbox_.take(MailboxPart::answer)->size(), largest.size());
    EXPECT_FALSE(mailbox_.put(MailboxPart::answer, largest + "x"));
    EXPECT_FALSE(mailbox_.put(MailboxPart::request,
                              std::string(Mailbox::capacity(MailboxPart::request) + 1, 'x')));
}

TEST_F(MailboxTest, BelievesNoHeader)
{
    ASSERT_TRUE(mailbox_.put(MailboxPart::answer, "text"));
    overwrite(offsetof(MailboxHeader, answer_bytes), UINT64_MAX);
    EXPECT_FALSE(mailbox_.take(MailboxPart::answer));
    overwrite(offsetof(MailboxHeader, answer_bytes), Mailbox::capacity(MailboxPart::answer) + 1);
    EXPECT_FALSE(mailbox_.take(MailboxPart::answer));
    overwrite(offsetof(MailboxHeader, answer_bytes), std::uint64_t{3});
    EXPECT_FALSE(mailbox_.take(MailboxPart::answer)) << "another length has another check sum";
    overwrite(offsetof(MailboxHeader, answer_bytes), std::uint64_t{4});
    EXPECT_TRUE(mailbox_.take(MailboxPart::answer));
    overwrite(offsetof(MailboxHeader, state), std::uint32_t{99});
    EXPECT_FALSE(mailbox_.valid());
    EXPECT_EQ(mailbox_.state(), MailboxState::empty);
    overwrite(offsetof(MailboxHeader, state), std::uint32_t{0});
    overwrite(offsetof(MailboxHeader, version), kMailboxVersion + 1);
    EXPECT_FALSE(mailbox_.valid());
    overwrite(offsetof(MailboxHeader, version), kMailboxVersion);
    overwrite(offsetof(MailboxHeader, magic), 'X');
    EXPECT_FALSE(mailbox_.valid());
    EXPECT_FALSE(mailbox_.take(MailboxPart::answer));
}

TEST_F(MailboxTest, SmallMemoryIsNoMailbox)
{
    EXPECT_FALSE(Mailbox(std::span(memory_).first(100)).valid());
    EXPECT_FALSE(Mailbox({}).take(MailboxPart::answer));
}

Job some_job()
{
    Job job;
    job.recorded = true;
    job.files = {{"/a", 0755, std::string("\0\1\2", 3)}};
    JobStep step;
    step.kind = StepKind::ops;
    step.system_calls = true;
    step.command.argv = {"x", "y"};
    step.command.time_limit_ms = 7;
    step.operations = {"one", "two"};
    step.mount = {"/dev/pmem0", "/mnt", "ext4", "dax"};
    step.ops.file_slots = 2;
    Op op;
    op.kind = OpKind::checkpoint;
    op.line = 3;
    op.numbers[2] = 9;
    op.data = {true, "t", 1, 2};
    op.text = "checkpoint";
    step.ops.phases = {{{{{op}}}}, {}};
    job.steps = {step, {}};
    return job;
}

TEST(Job, IsTheSameBehindTheMailbox)
{
    const Job job = some_job();
    Job back;
    ASSERT_TRUE(decode_job(encode_job(job), back));
    EXPECT_EQ(job, back);

    JobReport report;
    report.steps = {{"failed", {}}, {"", {RunEnd::signalled, 9, 1, "out", true, "err", false, 5}}};
    report.kernel_log = "log";
    report.elapsed_usec = 4;
    JobReport report_back;
    ASSERT_TRUE(decode_job(encode_job(report), report_back));
    EXPECT_EQ(report, report_back);

    BootReport boot;
    boot.hello.kernel_release = "6.1";
    boot.hello.pm_devices = {{"pmem0", 5, true, 6, "ram"}};
    boot.kallsyms = "k";
    BootReport boot_back;
    ASSERT_TRUE(decode_job(encode_job(boot), boot_back));
    EXPECT_EQ(boot, boot_back);
}

TEST(Job, DamageIsRefusedOrHarmless)
{
    const std::string whole = encode_job(some_job());
    Job back;
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_job(std::string_view(whole).substr(0, length), back)) << length;
    EXPECT_FALSE(decode_job(whole + "x", back));
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string damaged = whole;
        damaged[random() % damaged.size()] = static_cast<char>(random());
        Job job;
        if (decode_job(damaged, job))
            for (const JobStep &step : job.steps)
                is_sound(step.ops);
    }
}

} // namespace
} // namespace fencepost::agent
