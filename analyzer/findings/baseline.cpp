// SPDX-License-Identifier: GPL-2.0-or-later
// See baseline.h.
#include "analyzer/findings/baseline.h"

#include <map>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::findings {

using nlohmann::json;

namespace {

constexpr char kFormat[] = "fencepost baseline 1";

} // namespace

void apply_baseline(const std::filesystem::path &file, Report &report)
{
    std::error_code error;
    if (!std::filesystem::exists(file, error) && !error)
        fail(ErrorKind::usage, "there is no baseline {}; --write-baseline makes one",
             file.string());
    const json document = json::parse(read_named_file(file), nullptr, false);
    std::map<std::string, bool> seen;
    const bool right = document.is_object() && document.value("format", json()) == kFormat &&
                       document.contains("findings") && document["findings"].is_array();
    if (right)
        for (const json &one : document["findings"])
            if (one.is_object() && one.contains("id") && one["id"].is_string())
                seen.emplace(one["id"].get<std::string>(), false);
    if (!right || seen.size() != document["findings"].size())
        fail(ErrorKind::usage, "{} is not a baseline of fencepost; --write-baseline makes one",
             file.string());
    for (Finding &finding : report.findings) {
        const auto known = seen.find(finding.id);
        if (known == seen.end())
            continue;
        known->second = true;
        finding.known = true;
    }
    for (const auto &one : seen)
        if (!one.second)
            report.summary.statements.push_back("in the baseline and no longer found: " +
                                                one.first);
}

void write_baseline(const std::filesystem::path &file, const Report &report, Overwrite overwrite)
{
    json list = json::array();
    for (const Finding &finding : report.findings) {
        const symbols::CodePlace code =
            finding.places.empty() ? symbols::CodePlace() : finding.places.front().at.code;
        list.push_back({{"id", finding.id},
                        {"rule", finding.rule},
                        {"function", code.function},
                        {"module", code.module},
                        {"message", finding.title}});
    }
    const json document = {{"format", kFormat}, {"findings", list}};
    write_output(file, document.dump(2, ' ', false, json::error_handler_t::replace) + "\n",
                 overwrite);
}

} // namespace fencepost::findings
