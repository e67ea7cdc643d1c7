// SPDX-License-Identifier: GPL-2.0-or-later
// Findings of both kinds: which of them are related, and how each format shows them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/relate.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/json.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/text.h"
#include "base/child_process.h"
#include "base/files.h"
#include "base/json.h"

namespace fencepost::report {
namespace {

using namespace nlohmann::literals;
using findings::Decides;
using findings::Finding;
using findings::Kind;
using findings::Severity;

symbols::CodePlace code(const std::string &function, std::uint64_t offset)
{
    return {.function = function, .offset = offset, .named = true, .module = "/bin/app"};
}

findings::Place place(std::string_view role, const std::string &function,
                      const std::string &caller = "main", const std::string &operation = "")
{
    return {.role = std::string(role),
            .at = {.event = {7, 3, 1}, .code = code(function, 8), .callers = {code(caller, 4)}},
            .operation = operation};
}

Finding of_rule(const std::string &function, const std::string &caller = "main")
{
    return {.id = "missing-flush-1",
            .title = "a store was not flushed by the end of the run",
            .summary = "a store was not flushed",
            .count = 1,
            .places = {place(findings::kAt, function, caller), place("earlier flush", "flush")},
            .rule = "missing-flush",
            .first_seq = 7,
            .last_seq = 7};
}

Finding of_states(std::string_view role, const std::string &function)
{
    Finding finding = {.id = "0123456789ab",
                       .kind = Kind::crash_state,
                       .title = "record 2 is lost",
                       .summary = "a record is lost",
                       .count = 3,
                       .places = {place(role, function, "main", "write a")},
                       .evidence = {{"fsck", "inconsistent", "", "it says \xff", "{\"exit\": 4}"}},
                       .verdict = "inconsistent",
                       .oracle = "fsck",
                       .state = "1@2",
                       .image = 5};
    if (role != findings::kLast)
        finding.places.push_back(place(findings::kLast, "fence"));
    if (role == findings::kAbsent)
        finding.absent_sites = {3};
    if (role == findings::kPresent)
        finding.present_sites = {3};
    finding.decides = with_stores(Decides::neither, !finding.absent_sites.empty(),
                                  !finding.present_sites.empty());
    return finding;
}

std::vector<std::string> related_to(Finding by_rule, Finding by_states)
{
    std::vector<Finding> rules = {std::move(by_rule)};
    std::vector<Finding> states = {std::move(by_states)};
    relate(rules, states);
    std::vector<std::string> ids;
    for (const Finding &finding : {rules[0], states[0]})
        for (const findings::Related &each : finding.related)
            ids.push_back(each.id + " by " + each.by);
    return ids;
}

TEST(Relate, FindingsAboutTheSameStore)
{
    const std::vector<std::string> both = {"0123456789ab by fsck",
                                           "missing-flush-1 by missing-flush"};
    const std::vector<std::string> none;
    EXPECT_EQ(related_to(of_rule("append"), of_states(findings::kAbsent, "append")), both);
    EXPECT_EQ(related_to(of_rule("append"), of_states(findings::kPresent, "append")), both);
    EXPECT_EQ(related_to(of_rule("append"), of_states(findings::kAbsent, "flush")), both)
        << "the rule's second place";
    EXPECT_EQ(related_to(of_rule("append"), of_states(findings::kLast, "append")), none)
        << "the last store before a crash does not decide";
    EXPECT_EQ(related_to(of_rule("append"), of_states(findings::kAbsent, "commit")), none);
    EXPECT_EQ(related_to(of_rule("append", "other"), of_states(findings::kAbsent, "append")), none)
        << "copied for somebody else";

    Finding other_process = of_rule("append");
    other_process.places[0].at.event.site = 99;
    EXPECT_EQ(related_to(other_process, of_states(findings::kAbsent, "append")), both);
    Finding no_stack = of_rule("append");
    no_stack.places[0].at.callers.clear();
    EXPECT_EQ(related_to(no_stack, of_states(findings::kAbsent, "append")), both);
    Finding elsewhere = of_rule("append");
    elsewhere.places[0].at.code.offset = 12;
    EXPECT_EQ(related_to(elsewhere, of_states(findings::kAbsent, "append")), none);
    elsewhere.places[0].at.event.seq = 8;
    EXPECT_EQ(related_to(elsewhere, of_states(findings::kAbsent, "append")), both)
        << "the other half of a memcpy()";
    elsewhere.places[0].at.event.seq = 9;
    EXPECT_EQ(related_to(elsewhere, of_states(findings::kAbsent, "append")), none);
    elsewhere = of_rule("append");
    elsewhere.places[0].at.code.module = "/bin/other";
    EXPECT_EQ(related_to(elsewhere, of_states(findings::kAbsent, "append")), none);
    Finding slow = of_rule("append");
    slow.severity = Severity::performance;
    EXPECT_EQ(related_to(slow, of_states(findings::kAbsent, "append")), none);
    Finding unknown = of_rule("unknown code");
    unknown.places[0].at.event.site = 0;
    EXPECT_EQ(related_to(unknown, of_states(findings::kAbsent, "unknown code")), none);
}

TEST(ReportText, WhatDecides)
{
    const auto decides = [](const Finding &finding) { return text_lines(finding).at(1); };
    Finding finding = of_states(findings::kAbsent, "append");
    EXPECT_EQ(text_lines(finding).at(0),
              "  0123456789ab bug inconsistent: record 2 is lost (fsck)");
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost");
    finding.decides = Decides::order;
    finding.present_sites = {4, 5};
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost, "
                                "one of 2 stores persisted");
    finding = of_states(findings::kPresent, "append");
    finding.count = 1;
    EXPECT_EQ(decides(finding), "    1 image; append+0x8 (in: write a) persisted");
    finding = of_states(findings::kLast, "append");
    EXPECT_EQ(decides(finding), "    3 images; fails regardless of in-flight stores; last store: "
                                "append+0x8 (in: write a)");
    finding.decides = Decides::unknown;
    EXPECT_EQ(decides(finding), "    3 images; deciding store not found; last store: "
                                "append+0x8 (in: write a)");
    finding.kind = Kind::workload;
    finding.count = 0;
    EXPECT_EQ(decides(finding), "    fails without a power failure");
    finding.note = findings::kIncidentalLock;
    EXPECT_EQ(text_lines(finding).at(2), "    relies on an incidental locked instruction");
}

TEST(ReportText, EachRuleThatFoundTheSameIsNamedOnce)
{
    Finding finding = of_states(findings::kAbsent, "append");
    finding.related = {{"missing-flush-1", Kind::rule, "missing-flush"},
                       {"missing-flush-2", Kind::rule, "missing-flush"},
                       {"torn-store-1", Kind::rule, "torn-store"}};
    const std::vector<std::string> lines = text_lines(finding);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[2], "    also found by rule missing-flush at the same store");
    EXPECT_EQ(lines[3], "    also found by rule torn-store at the same store");
    Finding rule = of_rule("append");
    rule.related = {{finding.id, finding.kind, finding.oracle}};
    EXPECT_EQ(text_lines(rule).back(), "    also found by oracle fsck at the same store");
}

// What guest tests see of `fencepost run` and `fencepost test`, without a guest.
TEST(ReportJson, FindingsOfEveryKindFitTheSchema)
{
    const TemporaryDirectory directory{testing::TempDir(), "findings"};
    std::vector<std::string> command = {"/usr/bin/python3",
                                        FENCEPOST_SOURCE "/tests/cli/findings_schema.py"};
    const auto add = [&](const Finding &finding) {
        const auto file = directory.path() / std::to_string(command.size());
        write_file(file, json_document(to_json(finding)));
        command.push_back(file.string());
    };
    Finding rule = of_rule("append");
    rule.related = {{"0123456789ab", Kind::crash_state, "fsck"}};
    rule.crash_seq = 9;
    rule.places[0].at.code.instruction = "mov %rax,(%rdi)";
    rule.places[0].at.code.source_file = "app.c";
    add(rule);
    rule.has_event = false;
    rule.fix = "a flush";
    rule.places.pop_back();
    add(rule);
    for (const std::string_view role : {findings::kAbsent, findings::kPresent, findings::kLast})
        add(of_states(role, "append"));
    Finding warning = of_states(findings::kAbsent, "append");
    warning.severity = Severity::warning;
    warning.note = findings::kIncidentalLock;
    warning.related = {{"missing-flush-1", Kind::rule, "missing-flush"}};
    add(warning);
    add({.id = "0123456789ac",
         .kind = Kind::workload,
         .title = "the workload hangs the guest",
         .summary = "the workload hangs the guest",
         .verdict = "guest_hang",
         .oracle = "workload"});
    const CommandResult checked = run_command(command);
    EXPECT_EQ(checked.end.code, 0) << checked.output << checked.errors;

    warning.verdict = "pass";
    command.resize(2);
    add(warning);
    const CommandResult refused = run_command(command);
    EXPECT_EQ(refused.end.code, 1);
    EXPECT_NE(refused.output.find("/verdict: 'pass' is not one of"), std::string::npos)
        << refused.output << refused.errors;
}

TEST(ReportSarif, FilesAreUris)
{
    const auto uri_of = [](const std::string &file) {
        findings::Report report;
        Finding &finding = report.findings.emplace_back(of_rule("append"));
        finding.places[0].at.code.source_file = file;
        finding.places[0].at.code.source_line = 3;
        const nlohmann::json sarif = to_sarif(report);
        const nlohmann::json &location =
            sarif.at("/runs/0/results/0/locations/0/physicalLocation"_json_pointer);
        EXPECT_EQ(location.at("/region/startLine"_json_pointer), 3);
        return location.at("/artifactLocation/uri"_json_pointer).get<std::string>();
    };
    EXPECT_EQ(uri_of("src/app-1.c"), "src/app-1.c");
    EXPECT_EQ(uri_of("my files/100%.c"), "my%20files/100%25.c");
    EXPECT_EQ(uri_of("/usr/src/x.h"), "file:///usr/src/x.h");
}

TEST(ReportSarif, ACrashFindingHasItsPlacesAndStacks)
{
    findings::Report report;
    report.catalog = {{"missing-flush", "sentence", "certainty", Severity::bug}};
    report.findings = {of_rule("append"), of_states(findings::kAbsent, "append")};
    report.findings.push_back({.kind = Kind::workload, .verdict = "guest_hang"});
    const nlohmann::json results = to_sarif(report).at("/runs/0/results"_json_pointer);
    EXPECT_EQ(results[0].at("ruleIndex"), 0);
    EXPECT_EQ(results[1].at("ruleId"), "inconsistent");
    EXPECT_FALSE(results[1].contains("ruleIndex")) << "no rule of the catalog";
    EXPECT_EQ(results[1].at("locations").size(), 1u);
    EXPECT_EQ(results[1].at("/relatedLocations/0/message/text"_json_pointer), "last");
    EXPECT_EQ(results[1].at("stacks").size(), 2u);
    EXPECT_EQ(results[1].at("/properties/oracle"_json_pointer), "fsck");
    EXPECT_TRUE(results[2].at("locations").empty());
    EXPECT_FALSE(results[2].contains("stacks"));
}

TEST(ReportFormats, ATerminalDoesNotObeyTheText)
{
    findings::Report report;
    report.findings = {of_rule("append")};
    report.findings[0].title = "\033[2J\nfindings   0";
    EXPECT_NE(render("text", report).find("\\x1b[2J\\nfindings   0"), std::string::npos);
    for (const char *format : {"json", "sarif"})
        EXPECT_TRUE(nlohmann::json::accept(render(format, report))) << format;
}

} // namespace
} // namespace fencepost::report
