// SPDX-License-Identifier: GPL-2.0-or-later
// Workers whose images are moods of tests/targets/moodfs, before the real judge.
#pragma once

#include <string>
#include <vector>

#include "replayer/oracle/image_judge.h"
#include "replayer/test/pool/worker.h"
#include "tests/guest/world.h"

namespace fencepost::test {

using namespace guest;

// The judge of a run, in guests that have the module.
class MoodyJudge : public oracle::Judge {
public:
    MoodyJudge(std::unique_ptr<oracle::Judge> judge, std::string module)
        : judge_(std::move(judge)), module_(std::move(module))
    {
    }

    void prepare(JudgedGuest &judged) override;
    bool has_baseline() const override { return judge_->has_baseline(); }
    void mask(const std::vector<oracle::Evidence> &objections) override
    {
        judge_->mask(objections);
    }
    void expect_space(const std::vector<agent::SpaceUse> &healthy) override
    {
        judge_->expect_space(healthy);
    }

private:
    void examine(const oracle::Subject &subject, oracle::Judgement &judgement) override
    {
        judgement = judge_->judge(subject);
    }

    std::unique_ptr<oracle::Judge> judge_;
    std::string module_; // its bytes
};

class MoodyWorker {
public:
    explicit MoodyWorker(std::uint32_t time_limit, std::vector<std::string> recovery = {});

    // One image whose mount is in that mood.
    Outcome test(char mood, bool crashed = true);
    MoodyJudge &judge() { return judge_; }
    const HangWatch &hangs() const { return *plan_.hangs; }
    const WorkerCounts &counts() { return worker_->counts(); }

private:
    World &world_;
    TemporaryDirectory directory_;
    image::InitialImage initial_;
    MoodyJudge judge_;
    WorkerPlan plan_;
    std::shared_ptr<const image::ImageStep> first_ = std::make_shared<image::ImageStep>();
    std::unique_ptr<Worker> worker_;
    std::uint64_t count_ = 0;
};

} // namespace fencepost::test
