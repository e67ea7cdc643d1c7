// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost report`: a run and what was found in it, as a page or for machines.
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/baseline.h"
#include "analyzer/report/run_formats.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/terminal_text.h"
#include "cli/reach_warnings.h"
#include "cli/report_verb.h"
#include "cli/severities.h"
#include "cli/verb.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/report/collect.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct ReportOptions {
    std::string run;
    std::string file;
    std::string format = "html";
    std::string fail_on = "none";
    bool fail_on_given = false;
    std::string baseline;
    bool force = false;
};

bool goes_to_stdout(const ReportOptions &options)
{
    return options.file == "-" || (options.file.empty() && options.format != "html");
}

// Marks what is in the baseline; says what of it is gone.
void mark_known(const std::string &file, report::RunReport &report)
{
    findings::KnownFindings known(file);
    std::vector<findings::Finding> plain;
    for (const report::ShownFinding &shown : report.findings)
        plain.push_back(shown.finding);
    known.mark(plain);
    for (std::size_t i = 0; i < plain.size(); ++i)
        report.findings[i].finding.known = plain[i].known;
    for (const bool of_rules : {true, false})
        for (std::string &sentence : known.gone(of_rules))
            report.rules.statements.push_back(std::move(sentence));
}

bool fails(const report::RunReport &report, const std::vector<findings::Severity> &failures)
{
    std::vector<findings::Finding> all;
    for (const report::ShownFinding &shown : report.findings)
        all.push_back(shown.finding);
    return findings::has_new(all, failures);
}

// The names of the files that were written.
std::vector<std::string> write_report(const ReportOptions &options, const run::RunFiles &files,
                                      const report::RunReport &report,
                                      const std::vector<findings::Severity> &failures)
{
    const std::string text = report::render(options.format, report, failures);
    if (goes_to_stdout(options)) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return {};
    }
    if (!options.file.empty()) {
        write_output(options.file, text, options.force ? Overwrite::yes : Overwrite::no);
        return {options.file};
    }
    return collect::write_page(files, report, text);
}

void make_report(Context &context, const ReportOptions &options)
{
    const std::vector<findings::Severity> failures = fail_on(options.fail_on);
    const std::vector<findings::Severity> junit_failures =
        options.fail_on_given ? failures : std::vector{findings::Severity::bug};
    if (goes_to_stdout(options) && context.settings.json && options.format != "json")
        fail(ErrorKind::usage, "--json and a report on stdout both want stdout; -o names a file");
    if (!options.file.empty() && options.file != "-") // before a long trace is read
        check_output(options.file, options.force ? Overwrite::yes : Overwrite::no);
    const collect::OpenedRun run(run::open_run(options.run), options.run);
    report::RunReport report =
        collect::collect_report(run, collect::analyze_run(run.files()),
                                [&](const std::string &line) { progress(context, line); });
    if (!options.baseline.empty())
        mark_known(options.baseline, report);
    const std::vector<std::string> written =
        write_report(options, run.files(), report, junit_failures);
    if (context.settings.json && !goes_to_stdout(options))
        print_json({{"headline", headline(report)}, {"files", written}});
    else if (!written.empty())
        fmt::print("report     {}\n           {}\n", terminal_text(headline(report)),
                   terminal_text(written.front()));
    if (fails(report, failures))
        context.exit_code = 1;
    else if (!failures.empty() && !why_no_pass(report).empty())
        context.exit_code = kNoPass;
}

} // namespace

std::string report_run(const Context &context, const std::string &run, findings::Report rules)
{
    const collect::OpenedRun opened(run::open_run(run), run);
    const report::RunReport report = collect::collect_report(
        opened, std::move(rules), [&](const std::string &line) { progress(context, line); });
    return collect::write_page(opened.files(), report, report::render("html", report, {})).front();
}

void add_report(App &app, Context &context)
{
    App *verb = app.add_subcommand("report",
                                   "Makes one page of what a run covered and what was found in it");
    auto options = std::make_shared<ReportOptions>();
    verb->add_option("RUN", options->run, "A run directory, or the trace.db in it")->required();
    verb->add_option("-o,--output", options->file,
                     "File to write; - is stdout; default: RUN/report.html for the page, which "
                     "replaces an earlier one, else stdout");
    verb->add_option("--format", options->format, "html, json, junit, markdown or sarif")
        ->one_of(report::run_format_names())
        ->capture_default_str();
    verb->add_option("--fail-on", options->fail_on,
                     std::string(kFailOnHelp) +
                         "; with severities, a run that is not a pass makes it 5. Default: none; "
                         "in JUnit, bugs are failures")
        ->each([options](const std::string &) { options->fail_on_given = true; });
    verb->add_option("--baseline", options->baseline,
                     "Findings in this file are known and do not fail");
    verb->add_flag("--force", options->force, "-o may replace a file that is there");
    verb->footer("The page needs no network and no other file. It can be made at any time, also "
                 "beside `fencepost test`.");
    verb->examples({{"report run", "writes run/report.html"},
                    {"report run --format markdown", "for a pull request"},
                    {"report run --format junit -o junit.xml --fail-on bug", "for CI"}});
    verb->callback([&context, options] { make_report(context, *options); });
}

} // namespace fencepost::cli
