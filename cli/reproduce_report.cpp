// SPDX-License-Identifier: GPL-2.0-or-later
// What `fencepost reproduce` saw, as text and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal_text.h"
#include "cli/reproduce_verb.h"
#include "cli/tree_listing.h"
#include "replayer/oracle/tree_evidence.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;
using test::Attempt;
using test::NamedState;
using test::Reproduction;

constexpr std::size_t kShownDetail = 4000; // bytes of one

void print_lines(std::string_view text, const char *indent)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        fmt::print("{}{}\n", indent, terminal_text(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void print_detail(const std::string &name, std::string text)
{
    const std::size_t shown = std::min(text.size(), kShownDetail);
    const std::size_t left_out = text.size() - shown;
    text.resize(shown);
    if (left_out != 0)
        text += fmt::format("... ({} more bytes)", left_out);
    if (text.find('\n') == std::string::npos) {
        fmt::print("    {}: {}\n", terminal_text(name), terminal_text(text));
        return;
    }
    fmt::print("    {}:\n", terminal_text(name));
    print_lines(text, "      ");
}

void print_details(const json &details)
{
    if (!details.is_object())
        return;
    for (const auto &[name, value] : details.items()) {
        std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
        if (!text.empty())
            print_detail(name, std::move(text));
    }
}

void print_judgement(const oracle::Judgement &judgement)
{
    for (const oracle::Evidence &evidence : judgement.evidence) {
        fmt::print("{:<10} {}: {}\n", evidence.oracle, to_string(evidence.verdict),
                   terminal_text(title_of(evidence)));
        print_details(evidence.details.json());
    }
    for (const std::string &what : judgement.not_tried)
        fmt::print("not tried  {}\n", terminal_text(what));
    fmt::print("kernel log{}\n", judgement.kernel_log.empty() ? " (nothing)" : "");
    print_lines(judgement.kernel_log, "    ");
    if (!judgement.tree) {
        fmt::print("tree       not looked at by these oracles (fencepost tree shows it)\n");
        return;
    }
    fmt::print("tree\n");
    print_tree(*judgement.tree);
}

std::string outcome(const Reproduction &result, const NamedState &named)
{
    const std::size_t times = result.attempts.size();
    if (named.finding && result.as_found() != 0)
        return fmt::format("fails again, {} of {}", result.as_found(), times);
    if (result.failed() != 0)
        return fmt::format("fails{}, {} of {}",
                           named.finding ? " in another way than the finding says" : "",
                           result.failed(), times);
    if (result.exit_code() == 0)
        return fmt::format("did not fail this time ({} of {} passed)", times, times);
    return "could not be judged";
}

json evidence_json(const oracle::Judgement &judgement)
{
    json all = json::array();
    for (const oracle::Evidence &each : judgement.evidence)
        all.push_back({{"oracle", each.oracle},
                       {"verdict", to_string(each.verdict)},
                       {"title", title_of(each)},
                       {"summary", each.summary},
                       {"details", each.details}});
    return all;
}

} // namespace

std::string words_of(const Attempt &attempt, const NamedState &named)
{
    const oracle::Judgement &judgement = attempt.judgement;
    std::string words = to_string(judgement.verdict);
    if (judgement.verdict != oracle::Verdict::pass)
        words += ": " + terminal_text(title_of(deciding_evidence(judgement)));
    if (named.finding && is_failure(judgement.verdict) && !attempt.as_found)
        words += " (not what the finding says)";
    return words;
}

void print_reproduction(const Reproduction &result, const NamedState &named)
{
    if (named.finding)
        fmt::print("finding    {} {}: {}\n", named.finding->id, named.finding->verdict,
                   terminal_text(named.finding->title));
    fmt::print("state      {}\n", named.request.state);
    print_judgement(result.shown().judgement);
    fmt::print("outcome    {}\n", outcome(result, named));
}

json reproduction_json(const Reproduction &result, const NamedState &named)
{
    json attempts = json::array();
    for (const Attempt &each : result.attempts)
        attempts.push_back({{"verdict", to_string(each.judgement.verdict)},
                            {"as_found", each.as_found},
                            {"evidence", evidence_json(each.judgement)}});
    const oracle::Judgement &shown = result.shown().judgement;
    return {{"finding", named.finding ? json(named.finding->id) : json()},
            {"state", named.request.state},
            {"times", result.attempts.size()},
            {"failed", result.failed()},
            {"as_found", result.as_found()},
            {"outcome", outcome(result, named)},
            {"attempts", attempts},
            {"verdict", to_string(shown.verdict)},
            {"not_tried", shown.not_tried},
            {"kernel_log", shown.kernel_log},
            {"tree", shown.tree ? oracle::tree_json(*shown.tree) : json()}};
}

} // namespace fencepost::cli
