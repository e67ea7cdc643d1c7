// SPDX-License-Identifier: GPL-2.0-or-later
// See evidence_words.h.
#include "analyzer/report/evidence_words.h"

#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace fencepost::report {

using nlohmann::json;

namespace {

constexpr std::size_t kMostLines = 60;

std::string text_at(const json &object, const char *key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json &list_at(const json &object, const char *key)
{
    static const json kNone = json::array();
    const auto found = object.find(key);
    return found != object.end() && found->is_array() ? *found : kNone;
}

void add_line(std::vector<std::string> &lines, const std::string &line)
{
    if (lines.size() < kMostLines)
        lines.push_back(line);
    else if (lines.size() == kMostLines)
        lines.emplace_back("(more)");
}

// "directory e: has no block"; "operation: rename, path: d"
std::string words_of_value(const json &value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (!value.is_object())
        return json_text(value);
    if (value.contains("detail"))
        return text_at(value, "path") + ": " + text_at(value, "detail");
    std::string words;
    for (const auto &[key, each] : value.items())
        words += (words.empty() ? "" : ", ") + key + ": " +
                 (each.is_string() ? each.get<std::string>() : json_text(each));
    return words;
}

// What a program or a kernel said stands for itself.
bool is_output(const std::string &key)
{
    return key == "output" || key == "errors" || key == "line" || key == "message" ||
           key == "console";
}

void add_said(const std::string &key, const json &value, std::vector<std::string> &said)
{
    if (value.is_null() || (value.is_string() && value.get_ref<const std::string &>().empty()))
        return;
    if (value.is_array()) {
        for (const json &each : value)
            add_said(key, each, said);
        return;
    }
    const std::string words = words_of_value(value);
    if (!value.is_object() && !is_output(key)) {
        add_line(said, key + ": " + words);
        return;
    }
    std::istringstream lines(words);
    for (std::string line; std::getline(lines, line);)
        add_line(said, line);
}

} // namespace

EvidenceWords words_of(const findings::Evidence &evidence)
{
    EvidenceWords words;
    const json details = json_or_discarded(evidence.details);
    if (!details.is_object())
        return words;
    if (const auto promise = details.find("promise");
        promise != details.end() && promise->is_object()) {
        words.promise = text_at(*promise, "name");
        words.promise_source = text_at(*promise, "source");
        words.in_progress = text_at(details, "in_progress");
        words.returned = text_at(details, "returned");
        for (const json &tree : list_at(details, "against")) {
            LegalTree &legal = words.against.emplace_back();
            if (!tree.is_object())
                continue;
            legal.as = text_at(tree, "as");
            for (const json &difference : list_at(tree, "differences"))
                legal.differences.push_back(words_of_value(difference));
        }
        return words;
    }
    for (const auto &[key, value] : details.items())
        add_said(key, value, words.said);
    return words;
}

namespace {

constexpr std::size_t kMostPlaces = 16;

// What the bytes that decide belong to, each place once.
void add_places(const json &minimal, std::vector<std::string> &lines)
{
    std::set<std::string> known;
    for (const char *stores : {"persisted", "lost", "differ"})
        for (const json &store : list_at(minimal, stores))
            for (const json &range : list_at(store, "bytes"))
                if (const std::string text = text_at(range, "belongs_to");
                    !text.empty() && known.size() < kMostPlaces &&
                    known.insert(text_at(range, "place")).second)
                    lines.push_back(text_at(range, "place") + ": " + text);
}

} // namespace

std::vector<std::string> minimal_lines(const findings::Finding &finding,
                                       const std::string &document)
{
    const json minimal = json_or_discarded(document);
    std::vector<std::string> lines;
    // Of the state that shows the finding now.
    if (!minimal.is_object() || text_at(minimal, "of_state") != finding.state)
        return lines;
    const auto add = [&](const char *words, const char *key) {
        const auto found = minimal.find(key);
        const std::string state =
            found != minimal.end() && found->is_object() ? text_at(*found, "state") : "";
        if (!state.empty())
            lines.push_back(words + state);
    };
    if (const std::string sentence = text_at(minimal, "sentence"); !sentence.empty())
        lines.push_back(sentence);
    add("fails:    ", "fail");
    add("passes:   ", "pass");
    add("earliest: ", "earliest");
    add_places(minimal, lines);
    return lines;
}

} // namespace fencepost::report
