// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost test`: the crash states of a run, in guests, before oracles.
#include "cli/test_verb.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "analyzer/report/text.h"
#include "base/error.h"
#include "base/places.h"
#include "base/terminal_text.h"
#include "cli/progress_line.h"
#include "cli/reach_warnings.h"
#include "replayer/oracle/oracle_choice.h"
#include "replayer/oracle/oracle_folder.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct TestOptions : TestArguments {
    std::string run = {};
};

// "90", "90s", "10m", "2h"
std::chrono::seconds parse_duration(const std::string &text)
{
    std::size_t end = 0;
    unsigned long number = 0;
    try {
        number = std::stoul(text, &end);
    } catch (const std::exception &) {
        end = 0;
    }
    const std::string unit = text.substr(end);
    const unsigned long seconds = unit.empty() || unit == "s" ? 1
                                  : unit == "m"               ? 60
                                  : unit == "h"               ? 3600
                                                              : 0;
    if (end == 0 || text[0] == '-' || seconds == 0 || number == 0 || number > 100000000)
        fail(ErrorKind::usage, "'{}' is an invalid duration; write 90s, 10m or 2h", text);
    return std::chrono::seconds(number * seconds);
}

std::optional<guest::Accelerator> parse_accelerator(const std::string &text)
{
    if (text == "auto")
        return std::nullopt;
    if (text == "kvm")
        return guest::Accelerator::kvm;
    if (text == "tcg")
        return guest::Accelerator::tcg;
    fail(ErrorKind::usage, "there is no accelerator '{}'; there are auto, kvm and tcg", text);
}

std::string brief_time(double seconds)
{
    const auto whole = static_cast<unsigned long>(seconds + 0.5);
    if (whole < 100)
        return fmt::format("{} s", whole);
    if (whole < 6000)
        return fmt::format("{} min", (whole + 30) / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

std::string progress_text(const test::TestProgress &now)
{
    std::string line =
        fmt::format("testing: {} images, {:.1f} a second, {} finding{}", now.tested,
                    now.seconds > 0 ? static_cast<double>(now.tested) / now.seconds : 0,
                    now.findings, now.findings == 1 ? "" : "s");
    if (now.infra_errors != 0)
        line += fmt::format(", {} infra errors", now.infra_errors);
    if (now.seconds_left)
        line += fmt::format(", about {} left", brief_time(*now.seconds_left));
    return line;
}

std::string counted(const std::map<std::string, std::uint64_t> &verdicts)
{
    std::string text;
    for (const auto &[verdict, count] : verdicts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
    return text.empty() ? "nothing" : text;
}

std::string oracle_list()
{
    std::string text = "Oracles:\n";
    for (const oracle::OracleEntry &entry : oracle::oracle_table())
        text += fmt::format("  {:<14}{}\n", entry.name, entry.help);
    for (const oracle::OracleFolder &folder : oracle::shipped_folders())
        text += fmt::format("  {:<14}{}\n", folder.name, folder.summary);
    return text + fmt::format("  {:<14}{}\n", "FOLDER/", "your own: fsck-oracles/README.md");
}

void run_test_verb(Context &context, const TestOptions &options)
{
    check_test_arguments(options);
    const run::RunFiles files = run::open_run(options.run);
    const test::TestReport report = run_test(context, files, options);
    if (context.settings.json) {
        json document = report_json(report);
        document["warnings"] = warnings_json(files);
        print_json(document);
    } else {
        print_report(report, files);
        print_warnings(files);
    }
    context.exit_code = with_reach(exit_code_of(report), files);
}

} // namespace

void add_test_arguments(App &verb, TestArguments &arguments)
{
    add_walk_arguments(verb, arguments.walk);
    verb.get_option("--strategy")
        ->each([&arguments](const std::string &) { arguments.strategy_given = true; })
        ->default_str(fmt::format("{}; returns too where what has returned must be there, torn too "
                                  "unless a torn write is legal",
                                  test::kDefaultStrategy));
    verb.add_option("--oracle", arguments.oracles,
                    "Comma-separated oracles, by name or by the path of a folder; default: what "
                    "the spec says")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb.add_option("--jobs", arguments.jobs, "Guests at work at once; 0: one for each CPU")
        ->range(0u, 256u)
        ->capture_default_str();
    verb.add_option("--limit", arguments.limit, "Stops after so many images");
    verb.add_option("--bugs", arguments.bugs,
                    "Stops when there are so many findings that are bugs");
    verb.add_option("--for", arguments.duration, "Stops after this time: 90s, 10m, 2h");
    verb.add_option("--backend", arguments.backend,
                    "Who runs the guests: process, libvirt or libvirt:URI")
        ->capture_default_str();
    verb.add_option("--accelerator", arguments.accelerator, "auto (KVM where it works), kvm or tcg")
        ->capture_default_str();
    verb.add_option("--confirm", arguments.confirm,
                    "Percent of the passes that a freshly restored guest judges too, as it does "
                    "every failure")
        ->range(0.0, 100.0)
        ->check([](const std::string &text) { // NaN, which a range lets pass
            return std::isnan(std::strtod(text.c_str(), nullptr))
                       ? fmt::format("Value {} not in range 0 to 100", text)
                       : std::string();
        })
        ->capture_default_str();
    verb.add_flag("--restart", arguments.restart,
                  "Forgets earlier verdicts and findings of the run");
    verb.add_flag("--fresh", arguments.fresh,
                  "Restores a guest for every image: slow, for comparison");
}

void check_test_arguments(const TestArguments &arguments)
{
    if (arguments.limit == 0)
        fail(ErrorKind::usage, "--limit 0 would test nothing");
    if (arguments.bugs == 0)
        fail(ErrorKind::usage, "--bugs 0 would test nothing");
    if (walk_options(arguments.walk).strategies.empty())
        fail(ErrorKind::usage, "the strategy '{}' would test nothing", arguments.walk.strategy);
    if (!arguments.walk.window.empty())
        states::check_window(arguments.walk.window);
    if (!arguments.duration.empty())
        parse_duration(arguments.duration);
    parse_accelerator(arguments.accelerator);
    guest::check_backend_name(arguments.backend);
}

void check_oracles(const run::Spec &spec, const TestArguments &arguments)
{
    oracle::check_oracles(arguments.oracles.empty() ? spec.test.oracles : arguments.oracles,
                          spec.file_system ? spec.file_system->type : "",
                          !spec.test.recovery.empty());
}

test::TestReport run_test(const Context &context, const run::RunFiles &files,
                          const TestArguments &arguments)
{
    test::TestRequest request;
    request.walk = walk_options(arguments.walk);
    if (arguments.strategy_given)
        request.strategies = request.walk.strategies;
    request.window = arguments.walk.window;
    request.incidental = arguments.walk.incidental;
    request.oracles = arguments.oracles;
    request.jobs = arguments.jobs;
    request.limit = arguments.limit;
    request.bugs = arguments.bugs;
    if (!arguments.duration.empty())
        request.duration = parse_duration(arguments.duration);
    request.backend = arguments.backend;
    request.accelerator = parse_accelerator(arguments.accelerator);
    request.confirm = arguments.confirm / 100;
    request.restart = arguments.restart;
    request.fresh = arguments.fresh;
    ProgressLine line(context, std::chrono::seconds(10));
    return test::test_recorded(
        files, cache_directory(), request,
        {[&](const std::string &text) { progress(context, text); },
         [&](const test::TestProgress &now) { line.show(progress_text(now)); }});
}

namespace {

void print_promise(const test::TestReport &report)
{
    if (!report.promise) {
        fmt::print("promise    none held against it: no oracle here compares trees\n");
        return;
    }
    fmt::print("promise    {}: {}\n           from: {}\n", report.promise->name,
               describe(report.promise->promise), terminal_text(report.promise->source));
}

json promise_json(const test::TestReport &report)
{
    if (!report.promise)
        return nullptr;
    json fields = json::object();
    for (const run::PromiseField &field : run::promise_fields())
        fields[field.name] = field_value(report.promise->promise, field.name);
    return {{"name", report.promise->name}, {"source", report.promise->source}, {"fields", fields}};
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
    for (const std::string &oracle : baseline.left_out())
        fmt::print(
            "  {} did not judge crash images: what the workload leaves without a crash is not "
            "in the history that it compares with\n",
            oracle);
    if (report.masked != 0)
        fmt::print("  masked in {} crash image{}\n", report.masked, report.masked == 1 ? "" : "s");
    if (baseline.stops())
        fmt::print("  not even the initial image can be recovered from: no crash image was "
                   "tested\n");
}

json baseline_json(const test::TestReport &report)
{
    json objections = json::array();
    for (const test::Objection &each : report.baseline.objections)
        objections.push_back({{"image", each.image},
                              {"oracle", each.evidence.oracle},
                              {"verdict", to_string(each.evidence.verdict)},
                              {"summary", each.evidence.summary},
                              {"masked", each.masked()},
                              {"ends_trust", each.ends_trust()},
                              {"details", each.evidence.details}});
    return {{"images", report.baseline.images},
            {"missing", report.baseline.missing},
            {"objections", objections},
            {"left_out", report.baseline.left_out()},
            {"masked_images", report.masked}};
}

} // namespace

void print_report(const test::TestReport &report, const run::RunFiles &files)
{
    print_baseline(report);
    fmt::print("tested     {} images in {:.1f} s{}: {}\n", report.tested, report.seconds,
               report.stop == test::TestStop::limit  ? " (stopped at the limit)"
               : report.stop == test::TestStop::time ? " (time limit reached)"
               : report.stop == test::TestStop::bugs ? " (found enough)"
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
        fmt::print("    {}\n", (files.findings() / finding.id).string());
    }
}

json report_json(const test::TestReport &report)
{
    json findings = json::array();
    for (const findings::Finding &finding : report.findings)
        findings.push_back(report::to_json(finding));
    json infra = json::array();
    for (const auto &[reason, images] : report.infra_reasons)
        infra.push_back({{"reason", reason}, {"images", images}});
    return {{"tested", report.tested},
            {"verdicts", report.verdicts},
            {"not_tried", report.not_tried},
            {"stop", test::to_string(report.stop)},
            {"promise", promise_json(report)},
            {"confirmed", report.confirmed},
            {"known", report.known},
            {"started_anew", report.started_anew},
            {"generated", report.walk.generated},
            {"promise_points", report.walk.promise_points},
            {"incidental_fences", report.walk.incidental_fences},
            {"seconds", report.seconds},
            {"judge_seconds", report.judge_seconds},
            {"guest_seconds", report.guest_seconds},
            {"oracle_seconds", report.oracle_seconds},
            {"restore_seconds", report.restore_seconds},
            {"patch_seconds", report.patch_seconds},
            {"probes", report.probes},
            {"probe_seconds", report.probe_seconds},
            {"workers",
             {{"restores", report.workers.restores},
              {"lost_guests", report.workers.lost_guests},
              {"discarded_guests", report.workers.discarded_guests},
              {"audits", report.workers.audits},
              {"failed_audits", report.workers.failed_audits},
              {"pages_compared", report.workers.pm.pages_compared},
              {"pages_written", report.workers.pm.pages_written},
              {"full_compares", report.workers.pm.full_compares}}},
            {"all",
             {{"verdicts", report.all_verdicts},
              {"disagreements", report.disagreements},
              {"states", report.states}}},
            {"baseline", baseline_json(report)},
            {"infra_errors", infra},
            {"findings", findings}};
}

int exit_code_of(const test::TestReport &report)
{
    if (report.found_bugs())
        return 1;
    if (report.all_verdicts.contains("infra_error"))
        return 4;
    return report.all_verdicts.empty() ? kNoPass : 0; // nothing was tested
}

void add_test(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "test", "Tests crash states of a run: a guest recovers from each, oracles judge");
    auto options = std::make_shared<TestOptions>();
    verb->add_option("RUN", options->run, "A run directory, or the trace.db in it")->required();
    add_test_arguments(*verb, *options);
    verb->footer([] {
        return oracle_list() + "\nA test that was stopped goes on where it was. What it keeps: "
                               "docs/reference/results-db.md. Examples: docs/how-to/test.md.";
    });
    verb->callback([&context, options] { run_test_verb(context, *options); });
}

} // namespace fencepost::cli
