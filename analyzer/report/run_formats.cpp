// SPDX-License-Identifier: GPL-2.0-or-later
// See run_formats.h.
#include "analyzer/report/run_formats.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analyzer/report/html.h"
#include "analyzer/report/junit.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/run_json.h"
#include "analyzer/report/sarif.h"
#include "base/error.h"
#include "base/json.h"

namespace fencepost::report {

using findings::Severity;

namespace {

using Failures = std::span<const Severity>;

std::string html(const RunReport &report, Failures)
{
    return to_html(report);
}

std::string as_json(const RunReport &report, Failures)
{
    return json_text(to_json(report)) + "\n";
}

std::string junit(const RunReport &report, Failures failures)
{
    return to_junit(report, failures);
}

std::string markdown(const RunReport &report, Failures)
{
    return to_markdown(report);
}

std::string sarif(const RunReport &report, Failures)
{
    findings::Report plain = {.summary = report.rules, .catalog = report.catalog};
    const findings::RuleDescription verdicts[] = {
        {"inconsistent", "An oracle saw what must not be after a power failure",
         "Seen in a guest that recovered from a crash image"},
        {"recovery_failed", "Recovery from a power failure failed",
         "Seen in a guest that recovered from a crash image"},
        {"guest_hang", "Recovery from a power failure did not end",
         "Seen in a guest that recovered from a crash image"},
        {"guest_crash", "The kernel crashed", "Seen in a guest"},
    };
    plain.catalog.insert(plain.catalog.end(), std::begin(verdicts), std::end(verdicts));
    for (const ShownFinding &shown : report.findings)
        plain.findings.push_back(shown.finding);
    return json_document(to_sarif(plain));
}

struct Format {
    std::string_view name;
    std::string (*render)(const RunReport &, Failures);
};
constexpr Format kFormats[] = {
    {"html", html}, {"json", as_json}, {"junit", junit}, {"markdown", markdown}, {"sarif", sarif}};

} // namespace

std::vector<std::string> run_format_names()
{
    std::vector<std::string> names;
    for (const Format &each : kFormats)
        names.emplace_back(each.name);
    return names;
}

std::string render(std::string_view name, const RunReport &report, Failures failures)
{
    const auto *const format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                            [&](const Format &each) { return each.name == name; });
    CHECK(format != std::end(kFormats), "a format that is in the table");
    return format->render(report, failures);
}

} // namespace fencepost::report
