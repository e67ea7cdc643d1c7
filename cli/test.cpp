// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost test`: the crash states of a run, in guests, before oracles.
#include "cli/test_verb.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "cli/progress_line.h"
#include "cli/reach_warnings.h"
#include "cli/reproduce_verb.h"
#include "replayer/oracle/oracle_folder.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/record/record_json.h"
#include "replayer/test/progress_text.h"
#include "replayer/test/test_json.h"

namespace fencepost::cli {

namespace {

struct TestOptions : TestArguments {
    std::string run = {};
    bool force = false;
    std::string state = {};
};

std::string oracle_list()
{
    std::string text = "Oracles:\n";
    for (const oracle::OracleEntry &entry : oracle::oracle_table())
        text += fmt::format("  {:<14}{}\n", entry.name, entry.help);
    for (const oracle::OracleFolder &folder : oracle::shipped_folders())
        text += fmt::format("  {:<14}{}\n", folder.name, folder.summary);
    return text + fmt::format("  {:<14}{}\n", "FOLDER/", "your own: fsck-oracles/README.md");
}

// One state is judged and shown, and nothing is kept.
void test_state(Context &context, const TestOptions &options)
{
    ReproduceArguments one = {.run = options.run, .name = options.state};
    one.incidental = options.walk.incidental;
    one.oracles = options.oracles;
    one.backend = options.backend;
    one.accelerator = options.accelerator;
    run_reproduce(context, one);
}

void run_test_verb(Context &context, const TestOptions &options)
{
    if (!options.state.empty()) {
        test_state(context, options);
        return;
    }
    test::TestRequest request = test_request(options);
    TestBaseline baseline(options, options.force);
    request.known = baseline.ids();
    const run::RunFiles files = run::open_run(options.run);
    test::TestReport report = run_test(context, files, request);
    baseline.mark(report.findings);
    baseline.write({report.findings});
    for (const std::string &sentence : baseline.gone())
        progress(context, sentence);
    if (context.settings.json) {
        nlohmann::json document = test::report_json(report);
        document["warnings"] = record::warnings_json(files);
        print_json(document);
    } else {
        print_report(report, files);
        print_warnings(files);
    }
    context.exit_code = with_reach(exit_code_of(report), files);
}

} // namespace

TestBaseline::TestBaseline(const TestArguments &arguments, bool force)
    : write_(arguments.write_baseline), overwrite_(force ? Overwrite::yes : Overwrite::no)
{
    if (!arguments.baseline.empty())
        known_ = findings::KnownFindings(arguments.baseline);
    if (!write_.empty()) // before a long test
        check_output(write_, overwrite_);
}

void TestBaseline::write(std::initializer_list<std::span<const findings::Finding>> findings) const
{
    if (!write_.empty())
        findings::write_baseline(write_, findings, overwrite_);
}

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
    verb.add_option("--minimize", arguments.minimize,
                    "Time to find out what exactly makes a bug fail, for each finding; 0: none")
        ->capture_default_str();
    verb.add_flag("--restart", arguments.restart,
                  "Forgets earlier verdicts and findings of the run");
    verb.add_option("--baseline", arguments.baseline,
                    "Findings in this file are known, do not fail and do not count for --bugs");
    verb.add_option("--write-baseline", arguments.write_baseline,
                    "Writes the findings as a baseline");
    verb.add_flag("--fresh", arguments.fresh,
                  "Restores a guest for every image: slow, for comparison");
}

test::TestRequest test_request(const TestArguments &arguments)
{
    test::TestRequest request;
    request.walk = walk_options(arguments.walk.names);
    if (request.walk.strategies.empty())
        fail(ErrorKind::usage, "the strategy '{}' would test nothing",
             arguments.walk.names.strategy);
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
    request.accelerator = guest::parse_accelerator(arguments.accelerator);
    if (arguments.minimize != "0")
        request.minimize = parse_duration(arguments.minimize);
    request.confirm = arguments.confirm / 100;
    request.restart = arguments.restart;
    request.fresh = arguments.fresh;
    test::check_request(request);
    return request;
}

test::TestReport run_test(const Context &context, const run::RunFiles &files,
                          const test::TestRequest &request)
{
    ProgressLine line(context, std::chrono::seconds(10));
    return test::test_recorded(
        files, cache_directory(), request,
        {[&](const std::string &text) { progress(context, text); },
         [&](const test::TestProgress &now) { line.show(test::progress_text(now)); }});
}

void add_test(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "test", "Tests crash states of a run: a guest recovers from each, oracles judge");
    auto options = std::make_shared<TestOptions>();
    verb->add_option("RUN", options->run, "A run directory, or the trace.db in it")->required();
    add_test_arguments(*verb, *options);
    verb->add_flag("--force", options->force, "--write-baseline may replace a file that is there");
    verb->add_option("--state", options->state,
                     "Tests only the state with this id, shows what comes back and keeps nothing: "
                     "as `fencepost reproduce`");
    verb->footer([] {
        return oracle_list() + "\nA test that was stopped goes on where it was. What it keeps: "
                               "docs/reference/results-db.md. Examples: docs/how-to/test.md.";
    });
    verb->examples({{"test run", "goes on where the last test of the run ended"},
                    {"test run --strategy random:20 --for 1h", "more states"},
                    {"test run --oracle mount,usable --restart", "other oracles"}});
    verb->callback([&context, options] { run_test_verb(context, *options); });
}

} // namespace fencepost::cli
