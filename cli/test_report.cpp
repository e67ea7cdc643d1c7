// SPDX-License-Identifier: GPL-2.0-or-later
// What `fencepost test` found, as text and as JSON, and the exit status that it stands for.
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/report/text.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "cli/reach_warnings.h"
#include "cli/test_verb.h"

namespace fencepost::cli {

namespace {

std::string counted(const std::map<std::string, std::uint64_t> &verdicts)
{
    std::string text;
    for (const auto &[verdict, count] : verdicts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
    return text.empty() ? "nothing" : text;
}

void print_promise(const test::TestReport &report)
{
    if (!report.promise) {
        fmt::print("promise    none held against it: no oracle here compares trees\n");
        return;
    }
    fmt::print("promise    {}: {}\n           from: {}\n", report.promise->name,
               describe(report.promise->promise), terminal_text(report.promise->source));
}

// What is wrong without a crash, each thing once with the images that have it.
void print_baseline(const test::TestReport &report)
{
    const test::Baseline &baseline = report.baseline;
    if (baseline.images.empty())
        return;
    std::map<std::tuple<std::string, std::string, std::string>, std::string> objections;
    for (const test::Objection &each : baseline.objections) {
        std::string &images = objections[{
            each.masked()       ? "masked"
            : each.ends_trust() ? "left out"
                                : "WRONG",
            each.evidence.oracle,
            fmt::format("{}: {}", to_string(each.evidence.verdict), each.evidence.summary)}];
        images += (images.empty() ? "" : ", ") + each.image;
    }
    fmt::print("baseline   {} without a crash: {}\n", fmt::join(baseline.images, " and "),
               objections.empty() ? "nothing wrong"
                                  : fmt::format("{} problem{}", objections.size(),
                                                objections.size() == 1 ? "" : "s"));
    if (!baseline.missing.empty())
        fmt::print("  no final image: {}\n", terminal_text(baseline.missing));
    for (const auto &[what, images] : objections)
        fmt::print("  {} {} ({}; {})\n", std::get<0>(what), terminal_text(std::get<2>(what)),
                   std::get<1>(what), images);
    if (report.masked != 0)
        fmt::print("  masked in {} crash image{}\n", report.masked, report.masked == 1 ? "" : "s");
    if (baseline.stops())
        fmt::print("  not even the initial image can be recovered from: no crash image was "
                   "tested\n");
}

} // namespace

void print_report(const test::TestReport &report, const run::RunFiles &files)
{
    print_baseline(report);
    fmt::print("tested     {} images in {:.1f} s{}: {}\n", report.tested, report.seconds,
               report.stop == test::TestStop::limit         ? " (stopped at the limit)"
               : report.stop == test::TestStop::time        ? " (time limit reached)"
               : report.stop == test::TestStop::bugs        ? " (found enough)"
               : report.stop == test::TestStop::interrupted ? " (interrupted; run again to go on)"
                                                            : "",
               counted(report.verdicts));
    fmt::print("states     {} from {} events, {} already tested\n", report.walk.generated,
               report.walk.events, report.known);
    if (report.walk.incidental_fences != 0)
        fmt::print(
            "incidental {} fences do not count: they are there for speculation or other CPUs\n",
            report.walk.incidental_fences);
    fmt::print("confirmed  {} in fresh guests, {} disagreed\n", report.confirmed,
               report.disagreements);
    if (report.workers.lost_guests != 0)
        fmt::print("lost       {} guests, each replaced\n", report.workers.lost_guests);
    if (report.workers.discarded_guests != 0)
        fmt::print("replaced   {} guests after a failed mount or a complaint of their kernel\n",
                   report.workers.discarded_guests);
    for (const auto &[what, images] : report.not_tried)
        fmt::print("not tried  {} ({} image{})\n", terminal_text(what), images,
                   images == 1 ? "" : "s");
    fmt::print("in all     {} states: {}\n", report.states, counted(report.all_verdicts));
    print_promise(report);
    for (const auto &[reason, images] : report.infra_reasons)
        fmt::print("infra      {} image{} could not be judged: {}\n", images,
                   images == 1 ? "" : "s", terminal_text(reason));
    fmt::print("findings   {}\n", report.findings.size());
    for (const findings::Finding &finding : report.findings) {
        for (const std::string &line : report::text_lines(finding))
            fmt::print("{}\n", terminal_text(line));
        if (const auto minimal = report.minimal.find(finding.id); minimal != report.minimal.end())
            fmt::print("    {}\n", terminal_text(minimal->second));
        fmt::print("    {}\n", (files.findings() / finding.id).string());
    }
    for (const std::string &oracle : report.baseline.left_out())
        fmt::print("verdict    NOT A PASS: {}\n", test::why_left_out(oracle));
}

int exit_code_of(const test::TestReport &report)
{
    if (report.stop == test::TestStop::interrupted)
        return Error(ErrorKind::interrupted, "").exit_code();
    if (report.found_bugs())
        return 1;
    if (report.all_verdicts.contains("infra_error"))
        return 4;
    const bool nothing_tested = report.all_verdicts.empty();
    return nothing_tested || !report.baseline.left_out().empty() ? kNoPass : 0;
}

} // namespace fencepost::cli
