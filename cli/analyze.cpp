// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost analyze`: detection rules over a trace.
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/baseline.h"
#include "analyzer/report/formats.h"
#include "analyzer/rules/analysis.h"
#include "analyzer/rules/rule.h"
#include "base/error.h"
#include "base/output_file.h"
#include "cli/filter_arguments.h"
#include "cli/severities.h"
#include "cli/verb.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

namespace {

struct AnalyzeOptions {
    std::string run;
    std::string model = "adr";
    std::string fences = "explicit";
    std::string persistency = "epoch";
    bool durable_operations = false;
    std::vector<std::string> rules;
    collect::RuleFileNames more;
    std::string baseline;
    std::string write_baseline;
    std::string fail_on = "bug";
    std::string sarif;
    bool force = false;
    bool list_rules = false;
    bool show_known_code = false;
    FilterArguments filter;
};

rules::Settings settings_of(const AnalyzeOptions &options)
{
    rules::Settings settings =
        rules::settings_named(options.model, options.fences, options.persistency);
    settings.durable_operations = options.durable_operations;
    rules::check_rule_names(options.rules);
    settings.rules = options.rules;
    return settings;
}

void list_rules(const Context &context)
{
    nlohmann::json list = nlohmann::json::array();
    for (const rules::RuleInfo *rule : rules::all_rules()) {
        if (context.settings.json)
            list.push_back({{"name", rule->name},
                            {"severity", name_of(rule->severity)},
                            {"sentence", rule->sentence},
                            {"certainty", rule->certainty},
                            {"silence", rule->silence}});
        else
            std::printf("%-22s %-12s %s\n", std::string(rule->name).c_str(),
                        std::string(name_of(rule->severity)).c_str(),
                        std::string(rule->sentence).c_str());
    }
    if (context.settings.json)
        print_json(list);
}

rules::AnalysisRequest request_of(const std::filesystem::path &trace, const AnalyzeOptions &options)
{
    return {.settings = settings_of(options),
            .files = collect::rule_files(trace, options.more),
            .show_known_code = options.show_known_code};
}

void apply_baseline(const std::filesystem::path &file, findings::Report &report)
{
    findings::KnownFindings known(file);
    known.mark(report.findings);
    for (std::string &sentence : known.gone(true))
        report.summary.statements.push_back(std::move(sentence));
}

void run_analyze(const AnalyzeOptions &options, Context &context)
{
    if (options.list_rules) {
        list_rules(context);
        return;
    }
    if (options.run.empty())
        fail(ErrorKind::usage, "analyze needs a RUN, or --list-rules");
    if (options.sarif == "-" && context.settings.json)
        fail(ErrorKind::usage, "--json and --sarif - both want stdout");
    const std::vector<findings::Severity> fatal = fail_on(options.fail_on);
    const findings::Filter filter = filter_of(options.filter);
    const Overwrite overwrite = options.force ? Overwrite::yes : Overwrite::no;
    for (const std::string &file : {options.sarif, options.write_baseline})
        if (!file.empty() && file != "-") // before a long trace is read
            check_output(file, overwrite);
    const std::filesystem::path trace = run::trace_of(options.run);
    findings::Report report = rules::analyze(trace, request_of(trace, options));
    if (!options.baseline.empty())
        apply_baseline(options.baseline, report);
    if (!options.write_baseline.empty())
        findings::write_baseline(options.write_baseline, {report.findings}, overwrite);
    if (!options.sarif.empty() && options.sarif != "-")
        write_output(options.sarif, report::render("sarif", report), overwrite);
    const bool failed = findings::has_new(report.findings, fatal); // also by what is not listed
    if (std::string sentence = findings::apply(filter, report.findings); !sentence.empty())
        report.summary.statements.push_back(std::move(sentence));
    const char *format = options.sarif == "-" ? "sarif" : context.settings.json ? "json" : "text";
    std::fputs(report::render(format, report).c_str(), stdout);
    if (failed)
        context.exit_code = 1;
}

} // namespace

void add_analyze(App &app, Context &context)
{
    App *verb = app.add_subcommand("analyze",
                                   "Looks for durability and performance bugs in a trace by rules");
    auto options = std::make_shared<AnalyzeOptions>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one");
    verb->add_option("--model", options->model, "Persistence model: adr or eadr")
        ->capture_default_str();
    verb->add_option("--fences", options->fences,
                     "Fences that count: explicit (sfence, mfence) or architectural (locked "
                     "instructions too)")
        ->capture_default_str();
    verb->add_option("--persistency", options->persistency,
                     "What the code counts on: strict, epoch or strand")
        ->capture_default_str();
    verb->add_flag("--durable-operations", options->durable_operations,
                   "What an operation wrote must be durable when it ends");
    verb->add_option("--rule", options->rules, "Only this rule; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--order", options->more.order,
                     "File of order rules: persist A before B [in op X]; may be repeated")
        ->allow_extra_args(false);
    verb->add_option(
            "--transactions", options->more.transactions,
            "File that describes transactions of a library or file system; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--suppress", options->more.suppressions,
                     "File of findings not to show; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--baseline", options->baseline,
                     "Findings in this file are known and do not fail");
    verb->add_option("--write-baseline", options->write_baseline,
                     "Writes the findings as a baseline");
    verb->add_option("--fail-on", options->fail_on, kFailOnHelp)->capture_default_str();
    verb->add_option("--sarif", options->sarif,
                     "Also writes the findings as SARIF 2.1.0; - is stdout");
    verb->add_flag("--force", options->force,
                   "--sarif and --write-baseline may replace a file that is there");
    add_filter_arguments(*verb, options->filter);
    verb->add_flag("--show-known-code", options->show_known_code,
                   "Also findings in third-party code reviewed as correct");
    verb->add_flag("--list-rules", options->list_rules, "Lists the rules");
    verb->footer("Rules: docs/reference/rules.md. Examples: docs/how-to/analyze.md.");
    verb->examples({{"analyze run", "all rules on the trace of a run"},
                    {"analyze run --rule missing-flush --rule missing-fence", "two of them"},
                    {"analyze run --write-baseline known.json", "accepts what is found now"}});
    verb->callback([options, &context] { run_analyze(*options, context); });
}

} // namespace fencepost::cli
