// SPDX-License-Identifier: GPL-2.0-or-later
// What `fencepost reproduce` saw, as text and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal_text.h"
#include "cli/reproduce_verb.h"
#include "cli/tree_listing.h"
#include "replayer/test/test_json.h"

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
    fmt::print("outcome    {}\n", outcome_words(result, named));
}

} // namespace fencepost::cli
