// SPDX-License-Identifier: GPL-2.0-or-later
// Findings of both kinds: which of them are related, and how each format shows them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/baseline.h"
#include "analyzer/findings/relate.h"
#include "analyzer/findings/site_name.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/json.h"
#include "analyzer/report/junit.h"
#include "analyzer/report/run_report.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/text.h"
#include "base/child_process.h"
#include "base/files.h"
#include "base/json.h"
#include "made_findings.h"

namespace fencepost::report {
namespace {

using namespace nlohmann::literals;

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

// A finding has one place, and may have more stores that decide.
TEST(Relate, EveryStoreThatDecidesCounts)
{
    Finding states = of_states(findings::kAbsent, "append");
    states.absent_sites = {3, 8};
    states.absent_code = {"append [app]"};
    states.deciding = {code("append", 8), code("append", 200), code("memcpy", 200)};
    Finding rule = of_rule("append");
    rule.places[0].at.code.offset = 200;
    rule.places[0].at.event = {70, 8, 1};
    EXPECT_EQ(related_to(rule, states).size(), 2u);
    rule.places[0].at.event.site = 9;
    EXPECT_EQ(related_to(rule, states).size(), 2u) << "the same code in another process";
    rule.places[0].at.code.offset = 204;
    EXPECT_TRUE(related_to(rule, states).empty()) << "that does not decide";
    rule.places[0].at.code.offset = 200;
    rule.places[0].at.callers = {code("put_host", 4)};
    EXPECT_TRUE(related_to(rule, states).empty()) << "stored for somebody else";
    rule.places[0].at.code.function = "memcpy";
    EXPECT_TRUE(related_to(rule, states).empty()) << "copied for somebody else";
    rule.places[0].at.callers = {code("append", 4)};
    EXPECT_EQ(related_to(rule, states).size(), 2u);
}

// A rule's finding has the first of them.
TEST(Relate, AnyStoreOfACopyIsTheCopy)
{
    Finding rule = of_rule("memcpy");
    rule.places[0].at.code.offset = 200;
    rule.places[0].at.event.seq = 70;
    rule.places[0].at.callers = {code("append", 4)};
    Finding states = of_states(findings::kAbsent, "memcpy");
    states.places[0].at.callers = {code("append", 4)};
    EXPECT_EQ(related_to(rule, states).size(), 2u);
    states.places[0].at.callers[0].offset = 12;
    EXPECT_TRUE(related_to(rule, states).empty()) << "another call";
    states.places.clear();
    states.absent_code = {"append [app]"};
    states.deciding = {code("memcpy", 8)};
    EXPECT_EQ(related_to(rule, states).size(), 2u);
    states.deciding = {code("memset", 8)};
    EXPECT_TRUE(related_to(rule, states).empty());
}

TEST(Relate, ARuleIsPartOfAFindingThatIsAsGrave)
{
    std::vector<Finding> rules = {of_rule("append"), of_rule("commit")};
    std::vector<Finding> states = {of_states(findings::kAbsent, "append")};
    relate(rules, states);
    EXPECT_EQ(rules[0].part_of, "0123456789ab");
    EXPECT_EQ(rules[1].part_of, "");
    EXPECT_TRUE(has_new(rules));
    rules.pop_back();
    EXPECT_FALSE(has_new(rules)) << "the other finding counts";
    rules = {of_rule("append")};
    states[0].severity = Severity::warning;
    relate(rules, states);
    EXPECT_EQ(rules[0].part_of, "") << "the rule is sure";
}

// A run says as many bugs as there are, in every format.
TEST(RunReport, PartsOfAFindingDoNotCount)
{
    std::vector<Finding> rules = {of_rule("append"), of_rule("commit")};
    std::vector<Finding> states = {of_states(findings::kAbsent, "append")};
    relate(rules, states);
    RunReport report;
    report.test.tested = true;
    report.test.verdicts = {{"pass", 1}};
    for (const Finding &finding : {states[0], rules[0], rules[1]})
        report.findings.push_back({.finding = finding});
    EXPECT_EQ(headline(report), "2 bugs");
    EXPECT_EQ(counts_of(report)[0], 2u);
    EXPECT_NE(to_junit(report, findings::kBugs).find("failures=\"2\" errors=\"0\">\n"),
              std::string::npos);
    EXPECT_EQ(text_lines(rules[0]).front(),
              "  bug missing-flush: a store was not flushed by the end of the run (part of "
              "0123456789ab)");
    EXPECT_EQ(to_json(rules[0])["part_of"], "0123456789ab");
    EXPECT_TRUE(to_json(rules[1])["part_of"].is_null());
}

TEST(SiteName, SaysWhoWantsTheStore)
{
    const auto named = [](const std::vector<std::string> &functions, const std::string &operation) {
        symbols::EventPlace at = {.event = {1, 2, 3}, .code = code(functions.front(), 8)};
        for (std::size_t i = 1; i < functions.size(); ++i)
            at.callers.push_back(code(functions[i], 4));
        return findings::site_names(at, operation);
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(named({"append", "main"}, "write"), (Names{"append [app]", "main [app]"}));
    EXPECT_EQ(named({"append.part.0.isra.0"}, ""), (Names{"append [app]"}));
    EXPECT_EQ(named({"__memcpy_flushcache", "append", "main"}, ""),
              (Names{"append [app]", "main [app]"}));
    EXPECT_EQ(named({"memset_movnt_avx_clwb", "pmem_memset_persist", "make"}, ""),
              (Names{"make [app]"}));
    EXPECT_EQ(named({"memcpy_flushcache", "write_pmem", "pmem_do_write", "pmem_submit_bio",
                     "__submit_bio", "submit_bio_noacct", "jbd2_commit"},
                    ""),
              (Names{"jbd2_commit [app]"}));
    EXPECT_EQ(named({"__strncpy_avx2", "sign", "main"}, ""), (Names{"sign [app]", "main [app]"}));
    EXPECT_EQ(named({"memcpy"}, ""), (Names{"memcpy [app]"})) << "no stack was recorded";
    symbols::EventPlace of_libc = {.code = code("_IO_default_xsputn", 8),
                                   .callers = {code("say", 4)}};
    EXPECT_EQ(findings::site_name(of_libc, ""), "_IO_default_xsputn [app]");
    of_libc.code.module = "/lib/x86_64-linux-gnu/libc.so.6";
    EXPECT_EQ(findings::site_name(of_libc, ""), "say [app]");
    EXPECT_EQ(findings::text_of(of_libc), "say+0x4 by _IO_default_xsputn");
    of_libc.code = {.function = "libc.so.6+0x1240", .module = of_libc.code.module};
    EXPECT_EQ(findings::site_name(of_libc, ""), "say [app]") << "without symbols";

    symbols::EventPlace stripped = {.code = {.function = "app+0x12", .module = "/bin/app"}};
    EXPECT_EQ(findings::site_name(stripped, "store m 0"), "app+0x12");
    symbols::EventPlace agent = {.code = {.function = "0x4a85ef"}};
    EXPECT_EQ(findings::site_name(agent, "store m 0"), "in: store m 0");
    EXPECT_EQ(findings::site_name(agent, ""), "0x4a85ef");
}

TEST(KnownFindings, ThoseOfRulesAndOfStatesApart)
{
    const TemporaryDirectory directory{testing::TempDir(), "findings"};
    const auto file = directory.path() / "known.json";
    std::vector<Finding> rules = {of_rule("append")};
    std::vector<Finding> states = {of_states(findings::kAbsent, "append")};
    findings::write_baseline(file, {rules, states}, Overwrite::no);
    findings::KnownFindings known(file);
    EXPECT_EQ(known.ids(), (std::set<std::string>{"0123456789ab", "missing-flush-1"}));
    EXPECT_EQ(known.gone(true),
              (std::vector<std::string>{"in the baseline and no longer found: missing-flush-1, " +
                                        rules[0].title}));
    EXPECT_EQ(known.gone(false),
              (std::vector<std::string>{
                  "in the baseline and no longer found: 0123456789ab, record 2 is lost"}));
    EXPECT_TRUE(has_new(states));
    known.mark(states);
    EXPECT_TRUE(states[0].known);
    EXPECT_FALSE(has_new(states));
    EXPECT_TRUE(known.gone(false).empty());
    EXPECT_EQ(text_lines(states[0]).at(0),
              "  0123456789ab bug inconsistent: record 2 is lost (fsck) (known)");
    findings::KnownFindings none;
    states[0].known = false;
    none.mark(states);
    EXPECT_FALSE(states[0].known);
}

TEST(ReportText, WhatElseTheSameCauseBreaks)
{
    Finding finding = of_states(findings::kAbsent, "append");
    finding.state_count = 7;
    for (const char *title : {"a", "b", "c", "d", "e"})
        finding.also.push_back({"recovery_failed", "mount", title, title, 1});
    finding.also[0].count = 2;
    const std::vector<std::string> lines = text_lines(finding);
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[1], "    3 images of 7 states; append+0x8 (in: write a) lost");
    EXPECT_EQ(lines[2], "    also seen as recovery_failed: a (mount; 2 images)");
    EXPECT_EQ(lines[4], "    also seen as recovery_failed: c (mount; 1 image)");
    EXPECT_EQ(lines[5], "    also seen in 2 more ways");
    std::erase_if(finding.places,
                  [](const auto &place) { return place.role == findings::kAbsent; });
    finding.absent_sites = {1, 2, 3, 4, 5};
    finding.absent_code = {"a [m]", "b [m]", "c [m]", "d [m]", "e [m]"};
    EXPECT_EQ(text_lines(finding).at(1),
              "    3 images of 7 states; one of 5 stores of a [m], b [m], c [m] and 2 more lost");
}

TEST(ReportText, WhatDecides)
{
    const auto decides = [](const Finding &finding) { return text_lines(finding).at(1); };
    Finding finding = of_states(findings::kAbsent, "append");
    EXPECT_EQ(text_lines(finding).at(0),
              "  0123456789ab bug inconsistent: record 2 is lost (fsck)");
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost");
    finding.callers = {"put [m]"};
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost");
    finding.callers = {"a [m]", "b [m]", "c [m]", "d [m]", "e [m]"};
    finding.unfenced = true;
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost (flushed, not "
                                "fenced); stored for a [m], b [m], c [m] and 2 more");
    finding.callers.clear();
    finding.unfenced = false;
    finding.decides = Decides::order;
    finding.present_sites = {4, 5};
    EXPECT_EQ(decides(finding), "    3 images; append+0x8 (in: write a) lost, "
                                "one of 2 stores persisted");
    finding = of_states(findings::kPresent, "append");
    finding.count = 1;
    EXPECT_EQ(decides(finding), "    1 image; append+0x8 (in: write a) persisted");
    finding = of_states(findings::kLast, "append");
    EXPECT_EQ(decides(finding),
              "    3 images; fails with all and with none of the stores in flight; last store: "
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
    warning.absent_code = {"append [app]"};
    warning.also = {{"recovery_failed", "mount", "no mount", "no mount", 2}};
    warning.states = {"a", "b"};
    warning.state_count = 2;
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
