// SPDX-License-Identifier: GPL-2.0-or-later
// See own_oracle.h.
#include "replayer/oracle/own_oracle.h"

#include <algorithm>

#include "base/deadline.h"
#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/oracle/oracle.h"

namespace fencepost::oracle {

namespace {

constexpr std::size_t kWordsLimit = 200;

class FunctionOracle : public Oracle {
public:
    FunctionOracle(const OwnOracle &own, const JudgeSettings &settings)
        : Oracle(own.name, agent::JudgeStep::command), own_(own)
    {
        if (own_.progress)
            progress_.emplace(trace::TraceReader(settings.run.trace()));
    }

    bool visits() const override { return true; }

    void visit(GuestVisit &guest, Judgement &judgement) const override
    {
        if (progress_)
            guest.progress = &progress_->at(guest.crash_seq());
        std::optional<OwnObjection> objection;
        try {
            objection = own_.judge(guest);
        } catch (...) {
            if (!guest.hung()) {
                guest.rethrow_loss();
                throw;
            }
        }
        if (guest.hung()) {
            add_evidence(judgement, {name(),
                                     Verdict::guest_hang,
                                     "a command of the oracle did not end in its time",
                                     {}});
            return;
        }
        guest.rethrow_loss();
        if (objection)
            add(std::move(*objection), judgement);
    }

    UserOracle user_oracle() const override
    {
        return progress_ ? UserOracle::progress : UserOracle::plain;
    }

    std::optional<std::uint64_t> expectation(std::uint64_t crash_seq) const override
    {
        if (!progress_)
            return std::nullopt;
        return progress_->number_at(crash_seq);
    }

private:
    void add(OwnObjection objection, Judgement &judgement) const
    {
        const std::string line =
            objection.text.substr(0, std::min(objection.text.find('\n'), kWordsLimit));
        add_evidence(judgement, {name(), Verdict::inconsistent, without_numbers(line),
                                 std::move(objection.details), line});
    }

    const OwnOracle own_;
    std::optional<ProgressTable> progress_; // nothing: it does not ask
};

} // namespace

bool is_own(std::string_view name)
{
    return name.find(':') != std::string_view::npos;
}

const OwnOracle *find_own(const OwnOracles &own, std::string_view name)
{
    const auto found = std::find_if(own.begin(), own.end(),
                                    [&](const OwnOracle &each) { return each.name == name; });
    return found == own.end() ? nullptr : &*found;
}

std::unique_ptr<Oracle> make_own_oracle(const OwnOracle &own, const JudgeSettings &settings)
{
    return std::make_unique<FunctionOracle>(own, settings);
}

} // namespace fencepost::oracle
