// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles before answers of guests that were made by hand.
#pragma once

#include <memory>
#include <string>

#include <fmt/core.h>

#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::oracle {

inline std::unique_ptr<Oracle> make_oracle(const std::string &name,
                                           const JudgeSettings &settings = {})
{
    return find_entry(name)->make(name, settings);
}

inline Judgement hear(const Oracle &oracle, const agent::JudgeReply &reply, bool crashed = true,
                      bool starved = false)
{
    const Question question = {0, crashed, std::chrono::seconds(1)};
    agent::JudgeRequest request;
    oracle.ask(request);
    oracle.ask_about(question, request);
    Judgement judgement;
    judgement.kernel_log = reply.kernel_log;
    oracle.judge({question, request, reply, starved}, judgement);
    return judgement;
}

// Its evidence, a line each.
inline std::string said(const Judgement &judgement)
{
    std::string text;
    for (const Evidence &evidence : judgement.evidence)
        text += fmt::format("{}: {}\n", to_string(evidence.verdict), evidence.summary);
    return text;
}

} // namespace fencepost::oracle
