// SPDX-License-Identifier: GPL-2.0-or-later
// See baseline.h.
#include "analyzer/findings/baseline.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::findings {

using nlohmann::json;

namespace {

constexpr char kFormat[] = "fencepost baseline 1";

std::string text_or_nothing(const json &object, const char *key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

} // namespace

KnownFindings::KnownFindings(const std::filesystem::path &file)
{
    std::error_code error;
    if (!std::filesystem::exists(file, error) && !error)
        fail(ErrorKind::usage, "there is no baseline {}; --write-baseline makes one",
             file.string());
    const json document = json::parse(read_named_file(file), nullptr, false);
    const bool right = document.is_object() && document.value("format", json()) == kFormat &&
                       document.contains("findings") && document["findings"].is_array();
    if (right)
        for (const json &one : document["findings"])
            if (one.is_object() && one.contains("id") && one["id"].is_string())
                entries_.emplace(one["id"].get<std::string>(),
                                 Entry{.of_rule = one.value("rule", json()) != "",
                                       .scope = text_or_nothing(one, "scope")});
    if (!right || entries_.size() != document["findings"].size())
        fail(ErrorKind::usage, "{} is not a baseline of fencepost; --write-baseline makes one",
             file.string());
}

void KnownFindings::mark(std::vector<Finding> &findings)
{
    // Where more functions than before have something stored, there may be another bug.
    for (Finding &finding : findings)
        if (const auto known = entries_.find(finding.id);
            known != entries_.end() &&
            (known->second.scope.empty() || known->second.scope == finding.scope))
            known->second.found = finding.known = true;
}

std::vector<std::string> KnownFindings::gone(bool of_rules) const
{
    std::vector<std::string> sentences;
    for (const auto &[id, entry] : entries_)
        if (!entry.found && entry.of_rule == of_rules)
            sentences.push_back("in the baseline and no longer found: " + id);
    return sentences;
}

std::set<std::string> KnownFindings::ids() const
{
    std::set<std::string> ids;
    for (const auto &entry : entries_)
        ids.insert(entry.first);
    return ids;
}

void write_baseline(const std::filesystem::path &file,
                    std::initializer_list<std::span<const Finding>> findings, Overwrite overwrite)
{
    json list = json::array();
    for (const std::span<const Finding> some : findings)
        for (const Finding &finding : some) {
            const symbols::CodePlace code =
                finding.places.empty() ? symbols::CodePlace() : finding.places.front().at.code;
            list.push_back({{"id", finding.id},
                            {"rule", finding.rule},
                            {"scope", finding.scope},
                            {"function", code.function},
                            {"module", code.module},
                            {"message", finding.title}});
        }
    const json document = {{"format", kFormat}, {"findings", list}};
    write_output(file, document.dump(2, ' ', false, json::error_handler_t::replace) + "\n",
                 overwrite);
}

} // namespace fencepost::findings
