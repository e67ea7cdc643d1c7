// SPDX-License-Identifier: GPL-2.0-or-later
// A pool whose images are known byte for byte, and a judge that does what a test says.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "replayer/test/pool/worker_pool.h"
#include "tests/guest/whole_guest.h"
#include "tests/guest/world.h"

namespace fencepost::test {

using namespace guest;
using oracle::Judgement;
using oracle::Subject;

inline GuestConfig small_guest()
{
    GuestConfig config;
    config.pm = {{.size = 32 << 20}};
    return config;
}

// Does what the test says, by the image's crash_seq; others are mounted, written to and unmounted.
class ScriptedJudge : public oracle::Judge {
public:
    using Act = std::function<Judgement(const Subject &, unsigned times)>;

    void on(std::uint64_t seq, Act act) { acts_[seq] = std::move(act); }

    void examine(const Subject &subject, Judgement &judgement) override
    {
        unsigned times = 0;
        {
            const std::lock_guard guard(mutex_);
            times = ++times_[subject.crash_seq];
        }
        const auto act = acts_.find(subject.crash_seq);
        judgement = act == acts_.end() ? use_file_system(subject) : act->second(subject, times);
    }
    void prepare(JudgedGuest &) override { ++prepared; }

    static Judgement use_file_system(const Subject &subject)
    {
        whole(subject.guest).with_agent([&](AgentClient &agent) {
            EXPECT_TRUE(agent.mount({"/dev/pmem0", "/mnt/pm", "ext4", "dax"}, soon()));
            EXPECT_TRUE(
                agent.write_whole_file("/mnt/pm/file", std::string(20000, 'x'), 0644, soon()));
            EXPECT_TRUE(agent.unmount("/mnt/pm", soon()));
        });
        return {};
    }

    unsigned times(std::uint64_t seq) const { return times_.at(seq); }

    std::atomic<unsigned> prepared = 0;

private:
    std::mutex mutex_;
    std::map<std::uint64_t, Act> acts_;
    std::map<std::uint64_t, unsigned> times_;
};

class PoolTest : public testing::Test {
protected:
    explicit PoolTest(const char *backend = "process") : world_(backend, small_guest())
    {
        const std::filesystem::path file = world_.new_pm_file();
        make_file_system(file, small_guest().pm[0], "ext4");
        bytes_ = read_file(file);
        const trace::Region region = {.id = 1,
                                      .name = "pmem0",
                                      .base = pm_base(small_guest(), 0),
                                      .size = bytes_.size(),
                                      .file = "pm0"};
        const std::span<const std::byte> bytes[] = {std::as_bytes(std::span(bytes_))};
        initial_.emplace(std::vector{region}, bytes);
        first_line_ = region.base / 64;
    }

    // Image i has some bytes in the last pages that no other has; ext4 does not care.
    Assignment assignment(std::uint64_t i)
    {
        auto step = std::make_shared<image::ImageStep>();
        step->number = last_->number + 1;
        step->lines.push_back({.line = line_of(i % 7)});
        std::memcpy(step->lines.back().bytes.data(), &i, sizeof i);
        last_->next = step;
        last_ = step;
        Assignment made;
        made.image = made.state.seq = i;
        made.content.step = step;
        made.content.in_flight.push_back({.line = line_of(10 + i % 3)});
        std::memcpy(made.content.in_flight.back().bytes.data(), &i, sizeof i);
        if (knows_stores_)
            made.stores = stores(i);
        return made;
    }
    // Two were in flight when power failed: the first is missing, the second is what the image has.
    image::StateStores stores(std::uint64_t i) const
    {
        model::InFlight in_flight(model::Order::units);
        in_flight.add(line_of(kMissingSlot), {.value = 77, .seq = 1, .site = 1, .size = 8});
        in_flight.add(line_of(10 + i % 3), {.value = i, .seq = 2, .site = 2, .size = 8});
        states::ItemTable items;
        items.build(in_flight, states::Grouping::off);
        return {std::make_shared<image::InFlightStores>(items), {false, true}};
    }
    // Whether image i, or one like it, has the second and lacks the first.
    bool is_out_of_order(const Subject &subject, std::uint64_t i) const
    {
        const std::string bytes = read_file(subject.pm_files[0]);
        const auto value = [&](std::uint64_t slot) {
            std::uint64_t found = 0;
            std::memcpy(&found, bytes.data() + (line_of(slot) - first_line_) * 64, sizeof found);
            return found;
        };
        EXPECT_TRUE(value(kMissingSlot) == 0 || value(kMissingSlot) == 77);
        return value(10 + i % 3) == i && value(kMissingSlot) == 0;
    }
    // The file of image i, which was the i-th, from 1.
    std::string expected(std::uint64_t i)
    {
        std::string bytes = bytes_;
        for (std::uint64_t each = 1; each <= i; ++each)
            put(bytes, line_of(each % 7), each);
        put(bytes, line_of(10 + i % 3), i);
        return bytes;
    }

    std::map<std::uint64_t, Outcome> test(std::uint64_t count, unsigned jobs = 1,
                                          bool confirm = false, std::uint64_t failed_audits = 0)
    {
        const WorkerPlan plan = {world_.store(), world_.source(), *initial_, judge_,
                                 directory_.path()};
        WorkerPool pool(plan, jobs, first_);
        std::map<std::uint64_t, Outcome> outcomes;
        std::size_t open = 0; // questions
        const auto collect = [&] {
            auto [tested, answers] = pool.take_finished();
            for (Outcome &outcome : tested) {
                if (outcome.failed && outcome.repeats) {
                    pool.ask({*outcome.failed, deciding_evidence(outcome.judgement)});
                    ++open;
                }
                EXPECT_TRUE(outcomes.emplace(outcome.image, outcome).second)
                    << "twice: " << outcome.image;
            }
            for (Answer &answer : answers) {
                --open;
                EXPECT_TRUE(answers_.emplace(answer.image, answer).second)
                    << "twice: " << answer.image;
            }
        };
        for (std::uint64_t i = 1; i <= count; ++i) {
            Assignment next = assignment(i);
            next.confirm_pass = confirm;
            pool.submit(std::move(next));
            collect();
        }
        while (outcomes.size() < count || open != 0) {
            pool.wait_finished(std::chrono::seconds(1));
            collect();
        }
        pool.close();
        while (!pool.done())
            pool.wait_finished(std::chrono::seconds(1));
        counts_ = pool.counts();
        EXPECT_EQ(outcomes.size(), count) << "an image was lost";
        EXPECT_EQ(counts_.failed_audits, failed_audits);
        return outcomes;
    }

    const image::InitialImage &initial() const { return *initial_; }
    const std::filesystem::path &directory() const { return directory_.path(); }
    const std::shared_ptr<const image::ImageStep> &first() const { return first_; }

    World world_;
    ScriptedJudge judge_;
    WorkerCounts counts_;
    std::map<std::uint64_t, Answer> answers_; // of the images that failed
    bool knows_stores_ = false;

private:
    static constexpr std::uint64_t kMissingSlot = 14;

    std::uint64_t line_of(std::uint64_t slot) const
    {
        return first_line_ + (bytes_.size() - 65536 + slot * 4096) / 64;
    }
    void put(std::string &bytes, std::uint64_t line, std::uint64_t value) const
    {
        std::string content(64, '\0');
        std::memcpy(content.data(), &value, sizeof value);
        bytes.replace((line - first_line_) * 64, 64, content);
    }

    const TemporaryDirectory directory_{"/dev/shm", "fp-pool-"};
    std::string bytes_;
    std::uint64_t first_line_ = 0;
    std::optional<image::InitialImage> initial_;
    std::shared_ptr<const image::ImageStep> first_ = std::make_shared<image::ImageStep>();
    std::shared_ptr<const image::ImageStep> last_ = first_;
};

} // namespace fencepost::test
