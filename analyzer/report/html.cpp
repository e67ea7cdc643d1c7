// SPDX-License-Identifier: GPL-2.0-or-later
// See html.h. The template is page.html; this fills it.
#include "analyzer/report/html.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include "analyzer/report/finding_html.h"
#include "analyzer/report/html_data.h"
#include "analyzer/report/page_texts.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/shell_word.h"

namespace fencepost::report {

using kainjow::mustache::data;
using kainjow::mustache::list;

namespace {

constexpr std::size_t kMostFindings = 500;
constexpr std::size_t kMostRuleRows = 200;

std::string counted(std::uint64_t count, std::string_view what)
{
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string legal_of(const RunReport &report)
{
    return report.legal ? fmt::format("{}", *report.legal)
                        : fmt::format("2^{:.0f}", report.legal_log2);
}

data tile(const std::string &value, const std::string &label, const std::string &kind = "")
{
    data made;
    made.set("value", value);
    made.set("label", label);
    made.set("class", kind);
    return made;
}

list tiles_of(const RunReport &report)
{
    const auto counts = counts_of(report);
    list tiles;
    tiles.push_back(tile(fmt::format("{}", counts[0]), counts[0] == 1 ? "bug" : "bugs",
                         counts[0] != 0                ? "bug"
                         : why_no_pass(report).empty() ? "good"
                                                       : ""));
    tiles.push_back(tile(fmt::format("{}", counts[1]), counts[1] == 1 ? "warning" : "warnings",
                         counts[1] != 0 ? "warning" : ""));
    tiles.push_back(tile(fmt::format("{}", counts[2]), "about performance"));
    tiles.push_back(tile(fmt::format("{}", report.test.states), "states tested"));
    tiles.push_back(tile(fmt::format("{}", report.test.images), "different images"));
    tiles.push_back(tile(report.no_epochs.empty() ? legal_of(report) : "unknown", "legal states"));
    tiles.push_back(tile(fmt::format("{}", report.epochs.size()), "epochs"));
    tiles.push_back(tile(fmt::format("{}", report.events), "events"));
    tiles.push_back(tile(fmt::format("{}", report.operations.size()), "operations"));
    return tiles;
}

std::string verdict_class(const RunReport &report)
{
    const auto counts = counts_of(report);
    return counts[0] != 0                ? "bug"
           : counts[1] != 0              ? "warning"
           : counts[2] != 0              ? "performance"
           : why_no_pass(report).empty() ? "good"
                                         : "warning";
}

std::string summary_sentence(const RunReport &report)
{
    std::string text =
        "Workload " + (report.outcome.empty() ? report.recording_state : report.outcome);
    if (report.test.tested) {
        text += fmt::format("; {} of {} tested", counted(report.test.images, "image"),
                            counted(report.test.states, "crash state"));
        for (const auto &[verdict, images] : report.test.verdicts)
            text += fmt::format(", {} {}", images, verdict);
    }
    if (!report.promise.empty())
        text += ". The file system's promise: " + report.promise +
                " (from: " + report.promise_source + ")";
    return text + ".";
}

std::string coverage_sentence(const RunReport &report)
{
    const auto tested = std::count_if(report.epochs.begin(), report.epochs.end(),
                                      [](const Epoch &epoch) { return epoch.tested != 0; });
    return fmt::format("{} of {} epochs have tested states; {} states were tested of {} that are "
                       "legal, at {} crash points and {} failure points (model {}, fences {}).",
                       tested, report.epochs.size(), report.test.states, legal_of(report),
                       report.crash_points, report.failure_points,
                       report.model.empty() ? "unknown" : report.model,
                       report.fences.empty() ? "unknown" : report.fences);
}

void add_filters(const RunReport &report, data &page)
{
    std::map<std::string, std::uint64_t> modules;
    for (const ShownFinding &shown : report.findings)
        ++modules[module_of(shown.finding)];
    list options;
    for (const auto &[module, count] : modules) {
        data option;
        option.set("value", module_key(module));
        option.set("label", safe_text(module));
        option.set("count", fmt::format("{}", count));
        options.push_back(option);
    }
    page.set("modules", options);
    list severities;
    std::map<findings::Severity, std::uint64_t> counts; // of what is listed
    for (const ShownFinding &each : report.findings)
        ++counts[each.finding.severity];
    for (const findings::Severity severity : findings::kSeverities) {
        data option;
        option.set("value", std::string(name_of(severity)));
        option.set("count", fmt::format("{}", counts[severity]));
        severities.push_back(option);
    }
    page.set("severities", severities);
}

void add_findings(const RunReport &report, data &page)
{
    list shown;
    for (const ShownFinding &each : report.findings) {
        if (shown.size() == kMostFindings)
            break;
        shown.push_back(finding_data(each));
    }
    const std::size_t left_out = report.findings.size() - shown.size();
    page.set("finding_count", fmt::format("{}", report.findings.size()));
    page.set("has_findings", !shown.empty());
    page.set("findings", shown);
    page.set("findings_left_out", left_out == 0 ? data(false) : data(fmt::format("{}", left_out)));
}

void add_sessions(const RunReport &report, data &page)
{
    list sessions;
    for (const Session &each : report.test.sessions) {
        data row;
        row.set("started", safe_text(each.started));
        row.set("strategy", safe_text(each.strategy));
        row.set("model", safe_text(each.model + ", " + each.fences));
        row.set("seed", fmt::format("{}", each.seed));
        row.set("generated", fmt::format("{}", each.generated));
        row.set("tested", fmt::format("{}", each.tested));
        row.set("seconds", each.seconds ? fmt::format("{:.1f}", *each.seconds) : "");
        row.set("stop", each.stop.empty() ? "killed, or going on" : safe_text(each.stop));
        sessions.push_back(row);
    }
    page.set("sessions", sessions);
}

void add_rules(const RunReport &report, data &page)
{
    std::set<std::string> rules;
    std::map<std::string, std::map<std::string, std::uint64_t>> functions;
    for (const ShownFinding &shown : report.findings) {
        const findings::Finding &finding = shown.finding;
        if (finding.kind != findings::Kind::rule)
            continue;
        rules.insert(finding.rule);
        ++functions[finding.places.empty() ? "unknown code"
                                           : finding.places.front().at.code.function][finding.rule];
    }
    list columns;
    for (const std::string &rule : rules)
        columns.push_back(safe_text(rule));
    list rows;
    for (const auto &[function, counts] : functions) {
        if (rows.size() == kMostRuleRows)
            break;
        data row;
        list cells;
        row.set("function", safe_text(function));
        for (const std::string &rule : rules) {
            const auto count = counts.find(rule);
            cells.push_back(count == counts.end() ? "" : fmt::format("{}", count->second));
        }
        row.set("cells", cells);
        rows.push_back(row);
    }
    list statements;
    for (const std::string &statement : report.rules.statements)
        statements.push_back(safe_text(statement));
    std::string sentence = fmt::format("{} ran over {}", counted(report.rules.rules.size(), "rule"),
                                       counted(report.rules.events, "event"));
    if (rows.empty())
        sentence += "; none has a finding";
    if (report.rules.suppressed != 0)
        sentence += fmt::format("; {} suppressed", counted(report.rules.suppressed, "finding"));
    if (report.rules.known_code != 0)
        sentence += fmt::format("; {} in third-party code reviewed as correct are left out",
                                counted(report.rules.known_code, "finding"));
    page.set("rule_sentence", sentence + ".");
    page.set("has_rule_rows", !rows.empty());
    page.set("rule_columns", columns);
    page.set("rule_rows", rows);
    page.set("has_statements", !statements.empty());
    page.set("statements", statements);
}

void add_quality(const RunReport &report, data &page)
{
    list counters;
    std::uint64_t raised = 0;
    for (const QualityCounter &each : report.quality) {
        data row;
        raised += each.value != 0;
        row.set("class", each.value == 0 ? "" : each.severity == "error" ? "error" : "raised");
        row.set("name", safe_text(each.name));
        row.set("value", fmt::format("{}", each.value));
        row.set("meaning", safe_text(each.meaning));
        counters.push_back(row);
    }
    page.set("quality", counters);
    page.set("quality_sentence",
             fmt::format("The recording is {}. {} of {} are not 0. {} of {} have a function.",
                         report.recording_state, raised, counted(report.quality.size(), "counter"),
                         report.named_code_sites, counted(report.code_sites, "site")));
    page.set("function_sentence",
             fmt::format("From what the recording saw execute: {} with stores to PM, flushes or "
                         "fences.",
                         counted(report.functions.size(), "function")));
    list modules;
    for (const ModuleCoverage &each : report.modules) {
        data row;
        row.set("sentence",
                fmt::format("{}: {} of {} were at work when PM was written, flushed or fenced.",
                            safe_text(each.module), each.seen,
                            counted(each.functions, "function")));
        row.set("unseen_count", counted(each.unseen.size(), "function"));
        row.set("unseen", safe_text(fmt::format("{}", fmt::join(each.unseen, ", "))));
        modules.push_back(row);
    }
    page.set("module_coverage", modules);
}

void add_healthy(const RunReport &report, data &page)
{
    const TestOutcome &test = report.test;
    list rows;
    for (const HealthyObjection &each : test.healthy) {
        data row;
        row.set("image", safe_text(each.image));
        row.set("oracle", safe_text(each.oracle));
        row.set("verdict", safe_text(each.verdict));
        row.set("summary", safe_text(each.summary));
        row.set("masked", each.masked ? "masked" : "counts");
        rows.push_back(row);
    }
    std::string images;
    for (const std::string &image : test.healthy_images)
        images += (images.empty() ? "" : " and ") + image;
    std::string sentence =
        images.empty() ? "No image without a crash was judged."
        : rows.empty()
            ? fmt::format("The {} image without a crash: nothing wrong.", images)
            : fmt::format("What oracles object to in the {} image without a crash.", images);
    if (!test.healthy_missing.empty())
        sentence += " No final image: " + test.healthy_missing + ".";
    if (test.masked != 0)
        sentence += fmt::format(" Left out in {}.", counted(test.masked, "crash image"));
    page.set("healthy_sentence", safe_text(sentence));
    page.set("has_healthy", !rows.empty());
    page.set("healthy", rows);
}

void add_repeat(const RunReport &report, data &page)
{
    const std::string run = shell_word(report.run);
    std::string commands = fmt::format("fencepost verify {0}\nfencepost analyze {0}\n", run);
    for (const Session &session : report.test.sessions)
        if (&session == &report.test.sessions.back())
            commands += fmt::format(
                "fencepost test {} --strategy {} --model {} --fences {} --seed {}{}\n", run,
                shell_word(session.strategy), shell_word(session.model), shell_word(session.fences),
                session.seed,
                report.test.oracles.empty() ? "" : " --oracle " + shell_word(report.test.oracles));
    commands += fmt::format("fencepost report {}", run);
    list rows;
    for (const auto &[name, value] : report.meta) {
        data row;
        row.set("name", safe_text(name));
        row.set("value", safe_text(value));
        rows.push_back(row);
    }
    page.set("commands", safe_lines(commands));
    page.set("meta", rows);
    page.set("has_spec", !report.spec.empty());
    page.set("spec", safe_lines(report.spec));
}

} // namespace

std::string to_html(const RunReport &report)
{
    data page;
    page.set("name", safe_text(report.name));
    page.set("version", safe_text(report.version));
    page.set("headline", safe_text(headline(report)));
    page.set("verdict_class", verdict_class(report));
    page.set("summary_sentence", safe_text(summary_sentence(report)));
    page.set("coverage_sentence", safe_text(coverage_sentence(report)));
    page.set("tiles", tiles_of(report));
    list notes;
    for (const std::string &caveat : caveats(report))
        notes.push_back(safe_text(caveat));
    page.set("has_caveats", !notes.empty());
    page.set("caveats", notes);
    page.set("no_epochs",
             report.no_epochs.empty() ? data(false) : data(safe_text(report.no_epochs)));
    page.set("pictures_left_out", report.pictures_left_out == 0
                                      ? data(false)
                                      : data(fmt::format("{}", report.pictures_left_out)));
    add_filters(report, page);
    add_findings(report, page);
    add_sessions(report, page);
    add_rules(report, page);
    add_quality(report, page);
    add_healthy(report, page);
    add_repeat(report, page);
    page.set("css", std::string(kPageStyle));
    page.set("js", std::string(kPageScript));
    const std::string script = script_data(report);
    // Names the one script that may run: what a text of a guest brought along does not.
    page.set("nonce", Digest().add(script).hex());
    page.set("data", script);
    page.set("pictures", script_pictures(report));
    kainjow::mustache::mustache page_template{std::string(kPage)};
    CHECK(page_template.is_valid(), "a template that can be parsed");
    std::string text;
    page_template.render(page, [&](const std::string &part) { text += part; });
    return text;
}

} // namespace fencepost::report
