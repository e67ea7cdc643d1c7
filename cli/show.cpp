// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost show`: what was found in a run, and one finding with everything about it.
#include <algorithm>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/find.h"
#include "analyzer/report/finding_text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/run_json.h"
#include "analyzer/report/text.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "cli/filter_arguments.h"
#include "cli/verb.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/report/shown_findings.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct ShowOptions {
    std::string run;
    std::string finding;
    FilterArguments filter;
};

void print_list(const std::vector<findings::Finding> &all, const std::string &filtered,
                const report::TestOutcome &outcome, const run::RunFiles &files)
{
    for (const std::string &line : report::outcome_lines(outcome))
        fmt::print("{}\n", terminal_text(line));
    const auto parts = std::count_if(all.begin(), all.end(), [](const findings::Finding &finding) {
        return !finding.part_of.empty();
    });
    if (!filtered.empty() || parts == 0)
        fmt::print("findings   {}\n", filtered.empty() ? std::to_string(all.size()) : filtered);
    else
        fmt::print("findings   {}; {} more of rules are part of these\n",
                   static_cast<std::ptrdiff_t>(all.size()) - parts, parts);
    for (const findings::Finding &finding : all)
        for (const std::string &line : report::text_lines(finding))
            fmt::print("{}\n", terminal_text(line));
    if (!all.empty())
        fmt::print("\nfencepost show {} {}\n", terminal_text(files.directory.string()),
                   all.front().id);
}

void show(Context &context, const ShowOptions &options)
{
    const findings::Filter filter = filter_of(options.filter);
    if (!filter.empty() && !options.finding.empty())
        fail(ErrorKind::usage, "--severity, --function and --module are for the list of findings");
    const collect::OpenedRun run(run::open_run(options.run), options.run);
    collect::FoundSoFar found = collect::found_so_far(run);
    std::vector<findings::Finding> &all = found.findings;
    if (options.finding.empty()) {
        const std::string filtered = findings::apply(filter, all);
        if (context.settings.json)
            print_json(report::list_json(all, found.outcome));
        else
            print_list(all, filtered, found.outcome, run.files());
        return;
    }
    const findings::Finding &finding = findings::find(all, options.finding);
    collect::FindingShower shower(run);
    report::ShownFinding shown = shower.show(finding);
    shower.add_timeline(shown);
    if (context.settings.json) {
        print_json(report::to_json(shown));
        return;
    }
    for (const std::string &line : report::finding_lines(shown))
        fmt::print("{}\n", terminal_text(line));
}

} // namespace

void add_show(App &app, Context &context)
{
    App *verb = app.add_subcommand("show", "Shows what was found in a run, or one finding with "
                                           "everything about it");
    auto options = std::make_shared<ShowOptions>();
    verb->add_option("RUN", options->run, "A run directory, or the trace.db in it")->required();
    verb->add_option("FINDING", options->finding,
                     "Id of a finding, or the first characters of one; default: a list of all");
    add_filter_arguments(*verb, options->filter);
    verb->footer("Works at any time, also beside `fencepost test`. Changes nothing but "
                 "findings/ID/annotations.json: what an annotator says about the finding's "
                 "places. Exit status 0 whatever was found.");
    verb->examples({{"show run", "what was found so far, also beside a test at work"},
                    {"show run --severity bug --module nova", "some of a long list"},
                    {"show run FINDING", "one finding with everything about it"}});
    verb->callback([&context, options] { show(context, *options); });
}

} // namespace fencepost::cli
