// SPDX-License-Identifier: GPL-2.0-or-later
// See baseline.h.
#include "analyzer/findings/baseline.h"

#include <algorithm>

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

std::vector<std::string> names_or_none(const json &object, const char *key)
{
    std::vector<std::string> names;
    if (const auto found = object.find(key); found != object.end() && found->is_array())
        for (const json &name : *found)
            if (name.is_string())
                names.push_back(name.get<std::string>());
    return names;
}

Finding finding_in(const json &one)
{
    Finding finding;
    finding.rule = text_or_nothing(one, "rule");
    finding.title = text_or_nothing(one, "message");
    finding.id = text_or_nothing(one, "id");
    finding.scope = text_or_nothing(one, "scope");
    finding.callers = names_or_none(one, "callers");
    finding.other_ids = names_or_none(one, "other_ids");
    return finding;
}

bool has(const std::vector<std::string> &all, const std::string &one)
{
    return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_called_alike(const Finding &known, const Finding &finding)
{
    return known.id == finding.id || has(known.other_ids, finding.id) ||
           has(finding.other_ids, known.id);
}

// What the file has no callers of is about all of them. `scope`: of older files.
bool has_callers_of(const Finding &known, const Finding &finding)
{
    return (known.scope.empty() || known.scope == finding.scope) &&
           (known.callers.empty() ||
            std::all_of(finding.callers.begin(), finding.callers.end(),
                        [&](const std::string &each) { return has(known.callers, each); }));
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
                entries_.emplace(one["id"].get<std::string>(), Entry{finding_in(one)});
    if (!right || entries_.size() != document["findings"].size())
        fail(ErrorKind::usage, "{} is not a baseline of fencepost; --write-baseline makes one",
             file.string());
}

KnownFindings::Entry *KnownFindings::entry_of(const Finding &finding)
{
    if (const auto known = entries_.find(finding.id);
        known != entries_.end() && has_callers_of(known->second.finding, finding))
        return &known->second;
    const auto like = std::find_if(entries_.begin(), entries_.end(), [&](const auto &known) {
        return is_called_alike(known.second.finding, finding) &&
               has_callers_of(known.second.finding, finding);
    });
    return like == entries_.end() ? nullptr : &like->second;
}

void KnownFindings::mark(std::vector<Finding> &findings)
{
    for (Finding &finding : findings)
        if (Entry *known = entry_of(finding))
            known->found = finding.known = true;
}

std::vector<std::string> KnownFindings::gone(bool of_rules) const
{
    std::vector<std::string> sentences;
    for (const auto &[id, entry] : entries_)
        if (!entry.found && entry.finding.rule.empty() != of_rules)
            sentences.push_back("in the baseline and no longer found: " + id +
                                (entry.finding.title.empty() ? "" : ", ") + entry.finding.title);
    return sentences;
}

std::set<std::string> KnownFindings::ids() const
{
    std::set<std::string> ids;
    for (const auto &entry : entries_) {
        ids.insert(entry.first);
        // Whichever image is the first one.
        ids.insert(entry.second.finding.other_ids.begin(), entry.second.finding.other_ids.end());
    }
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
                            {"callers", finding.callers},
                            {"other_ids", finding.other_ids},
                            {"function", code.function},
                            {"module", code.module},
                            {"message", finding.title}});
        }
    const json document = {{"format", kFormat}, {"findings", list}};
    write_output(file, document.dump(2, ' ', false, json::error_handler_t::replace) + "\n",
                 overwrite);
}

} // namespace fencepost::findings
