// SPDX-License-Identifier: GPL-2.0-or-later
// See junit.h.
#include "analyzer/report/junit.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/report/finding_text.h"
#include "base/terminal_text.h"

namespace fencepost::report {

using findings::Finding;
using findings::Kind;

namespace {

// For attributes and text. terminal_text() leaves nothing that XML cannot hold but U+FFFE and
// U+FFFF, which are valid UTF-8.
std::string xml(std::string_view text)
{
    std::string safe;
    const std::string plain = terminal_text(text);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const char c = plain[i];
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else if (plain.compare(i, 2, "\xef\xbf") == 0 && i + 2 < plain.size() &&
                 static_cast<unsigned char>(plain[i + 2]) >= 0xbe)
            safe += "?", i += 2;
        else
            safe += c;
    }
    return safe;
}

struct Suite {
    std::string cases;
    std::uint64_t tests = 0;
    std::uint64_t failures = 0;
    std::uint64_t errors = 0;
};

std::string suite_of(const Finding &finding)
{
    return finding.kind == Kind::rule ? "rule " + finding.rule : "oracle " + finding.oracle;
}

std::string text_of_finding(const ShownFinding &shown)
{
    std::string text;
    for (const std::string &line : finding_lines(shown))
        text += xml(line) + "\n";
    return text;
}

void add_case(const ShownFinding &shown, bool fails, Suite &suite)
{
    const Finding &finding = shown.finding;
    suite.cases +=
        fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml(suite_of(finding)),
                    xml(finding.id + " " + sentence_of(finding)));
    if (fails)
        suite.cases += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                                   xml(name_of(finding.severity)), xml(sentence_of(finding)),
                                   text_of_finding(shown));
    else
        suite.cases +=
            fmt::format("      <system-out>{}{}{}\n{}</system-out>\n",
                        xml(name_of(finding.severity)), finding.known ? ", in the baseline" : "",
                        finding.part_of.empty() ? "" : xml(", part of " + finding.part_of),
                        text_of_finding(shown));
    suite.cases += "    </testcase>\n";
    ++suite.tests;
    suite.failures += fails;
}

void add_passed(const std::string &name, const std::string &what, Suite &suite)
{
    suite.cases +=
        fmt::format("    <testcase classname=\"{}\" name=\"{}\"/>\n", xml(name), xml(what));
    ++suite.tests;
}

void add_conditions(const RunReport &report, Suite &suite)
{
    std::string notes;
    for (const std::string &note : caveats(report))
        notes += xml(note) + "\n";
    for (const PassCondition &condition : pass_conditions(report)) {
        if (condition.why_not.empty()) {
            add_passed("run", condition.name, suite);
            continue;
        }
        suite.cases += fmt::format(
            "    <testcase classname=\"run\" name=\"{}\">\n      <error type=\"not a pass\" "
            "message=\"NOT A PASS: {}\">{}</error>\n    </testcase>\n",
            xml(condition.name), xml(condition.why_not), notes);
        ++suite.tests;
        ++suite.errors;
    }
}

} // namespace

std::string to_junit(const RunReport &report, std::span<const findings::Severity> failures)
{
    std::map<std::string, Suite> suites;
    add_conditions(report, suites["run"]);
    for (const ShownFinding &shown : report.findings) {
        const Finding &finding = shown.finding;
        const bool counts =
            std::find(failures.begin(), failures.end(), finding.severity) != failures.end();
        add_case(shown, counts && !finding.known && finding.part_of.empty(),
                 suites[suite_of(finding)]);
    }
    for (const std::string &rule : report.rules.rules)
        if (Suite &suite = suites["rule " + rule]; suite.tests == 0)
            add_passed("rule " + rule, "no finding", suite);
    if (const auto passed = report.test.verdicts.find("pass"); passed != report.test.verdicts.end())
        add_passed("crash images", fmt::format("{} images pass", passed->second),
                   suites["crash images"]);
    std::string body;
    Suite all;
    for (const auto &[name, suite] : suites) {
        all.tests += suite.tests;
        all.failures += suite.failures;
        all.errors += suite.errors;
        body += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
                            "skipped=\"0\">\n{}  </testsuite>\n",
                            xml(name), suite.tests, suite.failures, suite.errors, suite.cases);
    }
    return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuites name=\"fencepost {}\" tests=\"{}\" failures=\"{}\" "
                       "errors=\"{}\">\n{}</testsuites>\n",
                       xml(report.name), all.tests, all.failures, all.errors, body);
}

} // namespace fencepost::report
