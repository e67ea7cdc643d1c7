// SPDX-License-Identifier: GPL-2.0-or-later
// How a failure shows on the console of a guest that boots by itself: see reproduce_script.h.
#include <nlohmann/json.hpp>

#include "guest-images/agent/standalone.h"
#include "replayer/guest/judged/log_patterns.h"
#include "replayer/test/reproduce_script.h"

namespace fencepost::test {

using nlohmann::json;
using oracle::Evidence;
using oracle::Verdict;

namespace {

constexpr std::size_t kMostOfAlarm = 60; // its line may have been joined with the next

// A pattern of the shell for a line with the text in it, in which '#' and bytes that a console may
// show otherwise stand for anything.
std::string line_with(const std::string &text)
{
    std::string pattern = "*";
    bool quoted = false;
    for (const char each : text) {
        const bool plain = each >= ' ' && each <= '~' && each != '#' && each != '\'';
        if (plain != quoted)
            pattern += '\'';
        quoted = plain;
        if (plain)
            pattern += each;
        else if (pattern.back() != '*')
            pattern += '*';
    }
    return pattern + (quoted ? "'*" : pattern.back() == '*' ? "" : "*");
}

std::string agent_line(const std::string &text)
{
    return line_with(agent::kStandaloneMark + text);
}

std::optional<FailureSign> sign_of_crash(const Evidence &evidence)
{
    const json &details = evidence.details.json();
    if (!details.is_object() || !details.contains("line"))
        return std::nullopt;
    const std::string line = details["line"];
    FailureSign sign;
    sign.patterns = {line_with(guest::without_numbers(guest::parse_record(line).text))};
    const std::string function = details.value("function", "");
    if (!function.empty())
        sign.patterns.push_back(line_with(function + "+0x"));
    return sign;
}

FailureSign sign_of_mount(const Evidence &evidence)
{
    if (evidence.details.contains("error_number"))
        return {.patterns = {agent_line(evidence.summary)}};
    return {.patterns = {line_with(evidence.summary.substr(0, kMostOfAlarm))}};
}

FailureSign sign_of_use(const Evidence &evidence)
{
    const json &details = evidence.details.json();
    if (!details.contains("used_blocks"))
        return {.patterns = {agent_line(evidence.summary)}};
    agent::SpaceUse use;
    use.blocks = details["used_blocks"];
    use.inodes = details["used_inodes"];
    return {.patterns = {agent_line(agent::space_line(use))}};
}

FailureSign sign_of_checker(const Evidence &evidence)
{
    FailureSign sign = {.kind = FailureSign::Kind::checker};
    sign.patterns = {line_with(evidence.summary)};
    sign.oracle = evidence.oracle;
    sign.before = evidence.details["phase"] == "before";
    sign.status = evidence.verdict == Verdict::inconsistent ? 1 : 2;
    return sign;
}

} // namespace

std::optional<FailureSign> sign_of(const oracle::Judgement &judgement)
{
    const Evidence &evidence = deciding_evidence(judgement);
    if (evidence.verdict == Verdict::guest_crash)
        return sign_of_crash(evidence);
    if (evidence.verdict == Verdict::guest_hang && evidence.oracle == "guest")
        return FailureSign{.kind = FailureSign::Kind::hang};
    if (evidence.details.contains("phase"))
        return sign_of_checker(evidence);
    if (evidence.oracle == "mount")
        return sign_of_mount(evidence);
    if (evidence.oracle == "program")
        return FailureSign{.patterns = {agent_line(evidence.summary)}};
    if (evidence.oracle == "usable")
        return sign_of_use(evidence);
    if (judgement.tree)
        return FailureSign{.patterns = {agent_line(agent::tree_line(*judgement.tree))}};
    return std::nullopt;
}

} // namespace fencepost::test
