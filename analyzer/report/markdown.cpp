// SPDX-License-Identifier: GPL-2.0-or-later
// See markdown.h.
#include "analyzer/report/markdown.h"

#include <fmt/format.h>

#include "analyzer/findings/site_name.h"
#include "analyzer/report/finding_text.h"
#include "analyzer/report/text.h"
#include "base/terminal_text.h"

namespace fencepost::report {

using findings::Finding;
using findings::Kind;

namespace {

// Code hosts take comments of 64 KiB.
constexpr std::size_t kMostFindings = 20;
constexpr std::size_t kMostLines = 60; // of one finding
constexpr std::size_t kMostLine = 200;

// Nothing of a text is taken for Markdown, HTML, a mention or a link.
std::string plain(std::string_view text)
{
    std::string safe;
    for (const char c : terminal_text(text)) {
        if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '&')
            safe += "&amp;";
        else if (c == '@' || c == ':')
            safe += c == '@' ? "&#64;" : "&#58;";
        else if (std::string_view("\\`*_{}[]()#+-.!|~").find(c) != std::string_view::npos)
            safe += std::string("\\") + c;
        else
            safe += c;
    }
    return safe;
}

// In a <pre> element.
std::string preformatted(std::string_view text)
{
    std::string safe;
    for (const char c : terminal_text(text.substr(0, kMostLine)))
        safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return safe;
}

std::string place_of_finding(const Finding &finding)
{
    if (finding.kind != Kind::rule)
        return what_decides(finding);
    return finding.places.empty() ? "" : findings::text_of(finding.places.front().at);
}

std::string details_of(const ShownFinding &shown)
{
    std::string text =
        fmt::format("<details><summary>{}</summary>\n<pre>\n",
                    preformatted(shown.finding.id + " " + sentence_of(shown.finding)));
    std::size_t count = 0;
    for (const std::string &line : finding_lines(shown)) {
        if (++count > kMostLines) {
            text += "(more: fencepost show)\n";
            break;
        }
        // An empty line would end the HTML block.
        text += (line.empty() ? " " : preformatted(line)) + "\n";
    }
    return text + "</pre>\n</details>\n";
}

} // namespace

std::string to_markdown(const RunReport &report)
{
    std::string text =
        fmt::format("### fencepost: {}\n\n", plain(headline(report).substr(0, kMostLine)));
    text +=
        fmt::format("{}: {}\n\n", plain(report.name), plain(outcome_lines(report.test).front()));
    if (!report.findings.empty())
        text += "| | finding | where | seen |\n|---|---|---|---|\n";
    std::size_t count = 0;
    for (const ShownFinding &shown : report.findings) {
        const Finding &finding = shown.finding;
        if (++count > kMostFindings)
            break;
        text += fmt::format("| {}{}{} | {} | {} | {} |\n", name_of(finding.severity),
                            finding.known ? " (known)" : "",
                            finding.part_of.empty() ? "" : ", part of " + plain(finding.part_of),
                            plain(sentence_of(finding).substr(0, kMostLine)),
                            plain(place_of_finding(finding).substr(0, kMostLine)), finding.count);
    }
    if (report.findings.size() > kMostFindings)
        text +=
            fmt::format("\n{} more are in the report.\n", report.findings.size() - kMostFindings);
    text += "\n";
    count = 0;
    for (const ShownFinding &shown : report.findings)
        if (shown.finding.severity == findings::Severity::bug && count++ < kMostFindings / 4)
            text += details_of(shown);
    const std::vector<std::string> notes = caveats(report);
    if (!notes.empty())
        text += "\nNot covered:\n\n";
    for (const std::string &note : notes)
        text += "- " + plain(note) + "\n";
    return text;
}

} // namespace fencepost::report
