// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost analyze`: detection rules over a trace.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/baseline.h"
#include "analyzer/report/formats.h"
#include "analyzer/rules/engine.h"
#include "analyzer/rules/suppressions.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/analyze_verb.h"
#include "cli/verb.h"
#include "replayer/run/inputs.h"
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
    std::vector<std::string> order;
    std::vector<std::string> transactions;
    std::vector<std::string> suppressions;
    std::string baseline;
    std::string write_baseline;
    std::string fail_on = "bug";
    std::string sarif;
    bool force = false;
    bool list_rules = false;
    bool show_known_code = false;
};

std::string rule_names()
{
    std::string names;
    for (const rules::RuleInfo *rule : rules::all_rules())
        names += (names.empty() ? "" : ", ") + std::string(rule->name);
    return names;
}

rules::Settings settings_of(const AnalyzeOptions &options)
{
    rules::Settings settings;
    const auto model = model::model_named(options.model);
    if (!model || *model == model::ModelKind::line)
        fail(ErrorKind::usage, "the rules have no model '{}'; there are adr and eadr",
             options.model);
    const auto fences = model::fence_rule_named(options.fences);
    if (!fences)
        fail(ErrorKind::usage, "there is no fence rule '{}'; there are explicit and architectural",
             options.fences);
    const auto persistency = rules::persistency_named(options.persistency);
    if (!persistency)
        fail(ErrorKind::usage, "there is no persistency '{}'; there are strict, epoch and strand",
             options.persistency);
    settings.model = *model;
    settings.fences = *fences;
    settings.persistency = *persistency;
    settings.durable_operations = options.durable_operations;
    for (const std::string &name : options.rules) {
        if (std::none_of(rules::all_rules().begin(), rules::all_rules().end(),
                         [&](const rules::RuleInfo *rule) { return rule->name == name; }))
            fail(ErrorKind::usage, "there is no rule '{}'; there are {}", name, rule_names());
        settings.rules.push_back(name);
    }
    return settings;
}

std::vector<findings::Severity> severities_of(const std::string &list)
{
    std::vector<findings::Severity> result;
    if (list == "none")
        return result;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        if (word == "none")
            fail(ErrorKind::usage, "--fail-on none goes with no other severity, as in '{}'", list);
        const auto severity = findings::severity_named(word);
        if (!severity)
            fail(ErrorKind::usage,
                 "there is no severity '{}'; there are bug, warning, performance, and none", word);
        result.push_back(*severity);
    }
    if (result.empty())
        fail(ErrorKind::usage,
             "--fail-on is given no severity; there are bug, warning, performance, and none");
    return result;
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

// Transactions, order rules and suppressions: those of the run's spec, and more by options.
struct RuleFiles {
    std::vector<rules::TransactionTable> transactions = rules::built_in_transaction_tables();
    std::vector<rules::TextLine> order = {};
    std::vector<rules::Suppression> suppressions = {};

    void add_transactions(const std::vector<rules::TextLine> &lines)
    {
        for (rules::TransactionTable &table : parse_transaction_tables(lines))
            transactions.push_back(std::move(table));
    }
    void add_order(const std::vector<rules::TextLine> &lines)
    {
        order.insert(order.end(), lines.begin(), lines.end());
    }
    void add_suppressions(const std::vector<rules::TextLine> &lines)
    {
        for (rules::Suppression &one : parse_suppressions(lines))
            suppressions.push_back(std::move(one));
    }
};

// A spec's files stay below its directory, and what they name below theirs.
std::vector<rules::TextLine> order_lines_of(const run::SourceText &source)
{
    std::vector<rules::TextLine> lines =
        rules::split_lines(source.text, source.name, source.directory);
    for (const rules::FieldSource &type : rules::parse_order_file(lines).types) {
        std::error_code error;
        const auto file = std::filesystem::weakly_canonical(type.file, error);
        const auto below = file.lexically_relative(source.directory);
        if (error || below.empty() || *below.begin() == "..")
            type.line.refuse("{} is not below {}", type.file, source.directory.string());
    }
    return lines;
}

RuleFiles rule_files_of(const run::AnalyzeSpec &spec)
{
    RuleFiles files;
    for (const run::SourceText &each : spec.transactions)
        files.add_transactions(rules::split_lines(each.text, each.name));
    for (const run::SourceText &each : spec.order)
        files.add_order(order_lines_of(each));
    for (const run::SourceText &each : spec.suppressions)
        files.add_suppressions(rules::split_lines(each.text, each.name));
    return files;
}

findings::Report apply_rules(const std::filesystem::path &trace, const AnalyzeOptions &options)
{
    const rules::Settings settings = settings_of(options);
    RuleFiles files = rule_files_of(run::load_analyze({trace.parent_path()}));
    for (const std::string &file : options.transactions)
        files.add_transactions(rules::read_lines(file));
    for (const std::string &file : options.order)
        files.add_order(rules::read_lines(file));
    for (const std::string &file : options.suppressions)
        files.add_suppressions(rules::read_lines(file));
    rules::OrderFile order = parse_order_file(files.order); // mistakes in it come first
    const trace::TraceReader reader(trace);
    findings::Report report =
        rules::Engine(reader, settings, std::move(files.transactions), std::move(order)).run();
    if (!options.show_known_code)
        rules::apply_known_code(report);
    apply(files.suppressions, report);
    return report;
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
    const std::vector<findings::Severity> fatal = severities_of(options.fail_on);
    const Overwrite overwrite = options.force ? Overwrite::yes : Overwrite::no;
    for (const std::string &file : {options.sarif, options.write_baseline})
        if (!file.empty() && file != "-") // before a long trace is read
            check_output(file, overwrite);
    findings::Report report = apply_rules(run::trace_of(options.run), options);
    if (!options.baseline.empty())
        findings::apply_baseline(options.baseline, report);
    if (!options.write_baseline.empty())
        findings::write_baseline(options.write_baseline, report, overwrite);
    if (!options.sarif.empty() && options.sarif != "-")
        write_output(options.sarif, report::render("sarif", report), overwrite);
    const char *format = options.sarif == "-" ? "sarif" : context.settings.json ? "json" : "text";
    std::fputs(report::render(format, report).c_str(), stdout);
    for (const findings::Finding &finding : report.findings)
        if (!finding.known &&
            std::find(fatal.begin(), fatal.end(), finding.severity) != fatal.end())
            context.exit_code = 1;
}

} // namespace

void check_rule_files(const run::AnalyzeSpec &spec)
{
    rules::parse_order_file(rule_files_of(spec).order);
}

findings::Report analyze_run(const run::RunFiles &files)
{
    return apply_rules(files.trace(), {});
}

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
    verb->add_option("--order", options->order,
                     "File of order rules: persist A before B [in op X]; may be repeated")
        ->allow_extra_args(false);
    verb->add_option(
            "--transactions", options->transactions,
            "File that describes transactions of a library or file system; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--suppress", options->suppressions,
                     "File of findings not to show; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--baseline", options->baseline,
                     "Findings in this file are known and do not fail");
    verb->add_option("--write-baseline", options->write_baseline,
                     "Writes the findings as a baseline");
    verb->add_option("--fail-on", options->fail_on,
                     "Severities that make the exit status 1, joined by commas: bug, warning, "
                     "performance; or none")
        ->capture_default_str();
    verb->add_option("--sarif", options->sarif,
                     "Also writes the findings as SARIF 2.1.0; - is stdout");
    verb->add_flag("--force", options->force,
                   "--sarif and --write-baseline may replace a file that is there");
    verb->add_flag("--show-known-code", options->show_known_code,
                   "Also findings in third-party code reviewed as correct");
    verb->add_flag("--list-rules", options->list_rules, "Lists the rules");
    verb->footer("Rules: docs/reference/rules.md. Examples: docs/how-to/analyze.md.");
    verb->callback([options, &context] { run_analyze(*options, context); });
}

} // namespace fencepost::cli
