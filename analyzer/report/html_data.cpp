// SPDX-License-Identifier: GPL-2.0-or-later
// See html_data.h.
#include "analyzer/report/html_data.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal_text.h"

namespace fencepost::report {

using nlohmann::json;

namespace {

constexpr std::size_t kMostOperations = 20'000;
constexpr std::size_t kMostFunctions = 3'000;
constexpr std::size_t kMostText = 160;

std::string brief(const std::string &text)
{
    return terminal_text(text.size() <= kMostText ? text : text.substr(0, kMostText) + "...");
}

// Nothing in it can end the element or begin a comment.
std::string for_script(const std::string &text)
{
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text)
        if (c == '<' || c == '>' || c == '&')
            safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            safe += c;
    return safe;
}

// [[number, first, end, stores, flushes, lines, legal as a logarithm, legal or null, tested,
// failing, operation, picture]]
std::string epochs_of(const RunReport &report)
{
    std::string text = "[";
    for (const Epoch &epoch : report.epochs) {
        text += text.size() == 1 ? "" : ",";
        const auto operation =
            epoch.operation < static_cast<std::int64_t>(kMostOperations) ? epoch.operation : -1;
        text += fmt::format(
            "[{},{},{},{},{},{},{:.2f},{},{},{},{},{}]", epoch.number, epoch.first_seq,
            epoch.end_seq, epoch.stores, epoch.flushes, epoch.lines, epoch.legal_log2,
            epoch.legal && *epoch.legal < (std::uint64_t{1} << 53) ? fmt::format("{}", *epoch.legal)
                                                                   : "null",
            epoch.tested, epoch.failing, operation, epoch.picture);
    }
    return text + "]";
}

json operations_of(const RunReport &report)
{
    json list = json::array();
    for (const Operation &each : report.operations) {
        if (list.size() == kMostOperations)
            break;
        list.push_back({each.number, brief(each.text), each.first_seq,
                        each.last_seq ? json(*each.last_seq) : json(), each.tested, each.failing});
    }
    return list;
}

json functions_of(const RunReport &report)
{
    std::map<std::pair<std::string, std::string>, std::uint64_t> findings;
    for (const ShownFinding &shown : report.findings)
        if (!shown.finding.places.empty()) {
            const symbols::CodePlace &code = shown.finding.places.front().at.code;
            ++findings[{code.function, code.module}];
        }
    json list = json::array();
    for (const FunctionActivity &each : report.functions) {
        if (list.size() == kMostFunctions)
            break;
        const auto found = findings.find({each.function, each.module});
        list.push_back({brief(each.function), brief(each.module), each.stores, each.flushes,
                        each.fences, each.volatile_flushes,
                        found == findings.end() ? 0 : found->second});
    }
    return list;
}

} // namespace

std::string script_data(const RunReport &report)
{
    json sites = json::array();
    for (const std::string &site : report.sites)
        sites.push_back(brief(site));
    const std::size_t operations = report.operations.size();
    const std::string rest =
        json_text({{"events", report.events},
                   {"operations", operations_of(report)},
                   {"operations_left_out", operations - std::min(operations, kMostOperations)},
                   {"functions", functions_of(report)},
                   {"sites", sites}});
    return for_script("{\"epochs\":" + epochs_of(report) + "," + rest.substr(1));
}

std::string script_pictures(const RunReport &report)
{
    std::string text;
    for (const std::string &picture : report.pictures)
        text += (text.empty() ? "" : "\n") + picture;
    return for_script(text);
}

} // namespace fencepost::report
