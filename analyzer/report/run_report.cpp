// SPDX-License-Identifier: GPL-2.0-or-later
// See run_report.h.
#include "analyzer/report/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace fencepost::report {

namespace {

std::string counted(std::uint64_t count, std::string_view what)
{
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string verdicts_of(const TestOutcome &outcome)
{
    std::string text;
    for (const auto &[verdict, count] : outcome.verdicts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
    return text.empty() ? "nothing" : text;
}

// How the last test ended; empty: as it should, or it goes on.
std::string words_of_end(const TestOutcome &outcome)
{
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"", "was killed; the next one goes on from there"},
        {"limit", "stopped at its limit"},
        {"time", "reached its time limit"},
        {"bugs", "stopped when it had found enough"},
        {"baseline", "stopped: not even the initial image can be recovered from"},
        {"interrupted", "was interrupted; the next one goes on from there"},
        {"trouble", "was stopped by trouble of the machine"},
    };
    if (!outcome.running && !outcome.sessions.empty())
        for (const auto &[stop, words] : kWords)
            if (outcome.sessions.back().stop == stop)
                return std::string(words);
    return "";
}

// Not by a limit that somebody set.
bool cut_short(const TestOutcome &outcome)
{
    if (outcome.running || outcome.sessions.empty())
        return false;
    const std::string &stop = outcome.sessions.back().stop;
    return stop.empty() || stop == "interrupted" || stop == "trouble" || stop == "baseline";
}

} // namespace

std::vector<std::string> outcome_lines(const TestOutcome &outcome)
{
    if (!outcome.tested)
        return {"tested     no crash state was tested yet: fencepost test RUN"};
    std::vector<std::string> lines = {fmt::format("tested     {} of {} states: {}",
                                                  counted(outcome.images, "image"), outcome.states,
                                                  verdicts_of(outcome))};
    if (outcome.running)
        lines.emplace_back("running    a test is going on: this is what it has found so far");
    else if (const std::string words = words_of_end(outcome); !words.empty())
        lines.push_back(fmt::format("stopped    the last test {}", words));
    for (const auto &[reason, images] : outcome.infra_reasons)
        lines.push_back(
            fmt::format("infra      {} could not be judged: {}", counted(images, "image"), reason));
    for (const HealthyObjection &each : outcome.healthy)
        lines.push_back(fmt::format("healthy    {}, without a crash: {}: {}: {}{}", each.image,
                                    each.oracle, each.verdict, each.summary,
                                    each.masked ? " (masked in crash images)" : ""));
    return lines;
}

std::array<std::uint64_t, std::size(findings::kSeverities)> counts_of(const RunReport &report)
{
    std::array<std::uint64_t, std::size(findings::kSeverities)> counts = {};
    for (const ShownFinding &shown : report.findings)
        counts[static_cast<unsigned>(shown.finding.severity)] += shown.finding.part_of.empty();
    return counts;
}

std::vector<PassCondition> pass_conditions(const RunReport &report)
{
    const TestOutcome &test = report.test;
    std::vector<PassCondition> conditions = {{"the workload finished", report.not_finished},
                                             {"the workload reached PM", report.not_reached},
                                             {"crash states were tested", ""},
                                             {"every image was judged", ""},
                                             {"every oracle judged", ""}};
    if (!test.tested)
        conditions[2].why_not = "no crash state was tested";
    else if (test.verdicts.empty())
        conditions[2].why_not = "no image has a verdict";
    else if (cut_short(test))
        conditions[2].why_not = "the last test " + words_of_end(test);
    if (const auto infra = test.verdicts.find("infra_error"); infra != test.verdicts.end()) {
        conditions[3].why_not =
            fmt::format("{} could not be judged", counted(infra->second, "image"));
        if (!test.infra_reasons.empty())
            conditions[3].why_not += ": " + test.infra_reasons.front().first;
    }
    for (const std::string &why : test.left_out)
        conditions[4].why_not += (conditions[4].why_not.empty() ? "" : "; ") + why;
    return conditions;
}

std::string why_no_pass(const RunReport &report)
{
    std::string why;
    for (const PassCondition &condition : pass_conditions(report))
        if (!condition.why_not.empty())
            why += (why.empty() ? "" : "; ") + condition.why_not;
    return why;
}

std::string headline(const RunReport &report)
{
    const auto counts = counts_of(report);
    std::string text;
    if (const std::string why = why_no_pass(report); counts[0] == 0 && !why.empty())
        text = "not a pass: " + why;
    const auto add = [&](std::uint64_t count, const std::string &words) {
        if (count != 0)
            text += (text.empty() ? "" : ", ") + words;
    };
    add(counts[0], counted(counts[0], "bug"));
    add(counts[1], counted(counts[1], "warning"));
    add(counts[2], fmt::format("{} performance", counts[2]));
    return text.empty() ? "nothing found" : text;
}

std::vector<std::string> caveats(const RunReport &report)
{
    std::vector<std::string> lines = report.warnings;
    const TestOutcome &test = report.test;
    for (const std::string &why : {report.not_finished, report.not_reached})
        if (!why.empty())
            lines.push_back("Not a pass: " + why + ".");
    if (!test.tested)
        lines.emplace_back("No crash state was tested: only rules looked at the trace.");
    else if (test.verdicts.empty())
        lines.emplace_back("No image has a verdict yet.");
    if (test.running)
        lines.emplace_back("A test is going on; this is what it has found so far.");
    if (const std::string words = words_of_end(test); !words.empty())
        lines.push_back(fmt::format("The last test {}.", words));
    if (test.without_verdict != 0)
        lines.push_back(
            fmt::format("{} without a verdict yet.", counted(test.without_verdict, "image")));
    if (const auto infra = test.verdicts.find("infra_error"); infra != test.verdicts.end())
        lines.push_back(fmt::format("{} could not be judged.", counted(infra->second, "image")));
    const auto untested = static_cast<std::uint64_t>(
        std::count_if(report.epochs.begin(), report.epochs.end(),
                      [](const Epoch &epoch) { return epoch.tested == 0; }));
    if (test.tested && untested != 0)
        lines.push_back(
            fmt::format("{} of {} epochs have no tested state.", untested, report.epochs.size()));
    if (test.tested && report.legal_log2 > 0 &&
        static_cast<double>(test.states) < std::exp2(std::min(report.legal_log2, 60.0)))
        lines.push_back(fmt::format(
            "{} of {} legal states were tested: what is not among them is not judged.", test.states,
            report.legal ? fmt::format("{}", *report.legal)
                         : fmt::format("2^{:.0f}", report.legal_log2)));
    if (!test.healthy_missing.empty())
        lines.push_back("No final image was judged without a crash: " + test.healthy_missing + ".");
    if (!report.no_epochs.empty())
        lines.push_back("Epochs are not shown: " + report.no_epochs + ".");
    return lines;
}

} // namespace fencepost::report
