// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_evidence.h.
#include "replayer/oracle/tree_evidence.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fencepost::oracle {

using agent::TreeEntry;
using nlohmann::json;

namespace {

constexpr std::size_t kTitleLimit = 200;

bool is_word_character(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

// "write foo 0 1024" has the word "foo".
bool has_word(const std::string &text, const std::string &word)
{
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const bool starts = at == 0 || !is_word_character(text[at - 1]);
        const std::size_t end = at + word.size();
        if (starts && (end == text.size() || !is_word_character(text[end])))
            return true;
    }
    return false;
}

bool is_about_a_name(const std::string &kind)
{
    return kind == "missing" || kind == "unexpected" || kind == "twice" || kind == "linked";
}

// "bar is missing"; "size is 0, not 5" where the operation's text has the name already.
std::string phrase_of(const TreeProblem &problem, const std::string &operation)
{
    if (is_about_a_name(problem.kind))
        return problem.path + " " + problem.detail;
    return has_word(operation, problem.path) ? problem.detail
                                             : problem.path + ": " + problem.detail;
}

std::vector<std::string> names_only_in(const Tree &tree, const Tree &other)
{
    std::vector<std::string> names;
    for (const auto &[path, entry] : tree.entries())
        if (!other.find(path))
            names.push_back(path);
    return names;
}

// Of an operation that gives one thing another name: what became of the two.
std::string rename_words(const Tree &found, const Tree &before, const Tree &after)
{
    const std::vector<std::string> old_names = names_only_in(before, after);
    const std::vector<std::string> new_names = names_only_in(after, before);
    if (old_names.size() != 1 || new_names.size() != 1)
        return {};
    const bool has_old = found.find(old_names[0]);
    const bool has_new = found.find(new_names[0]);
    return has_old == has_new ? (has_old ? "both names are there" : "both names are gone") : "";
}

// What had begun and not returned, in the workload's words.
std::string in_progress(const LegalTrees &legal, const OperationSpan &span)
{
    std::string text;
    std::string last;
    for (std::size_t i = span.returned + 1; i <= span.begun; ++i)
        if (std::string operation = legal.operation_of(i); operation != last) {
            text += (text.empty() ? "" : ", ") + operation;
            last = std::move(operation);
        }
    return text;
}

// How the state came about, in the workload's words.
std::string label_of(std::size_t state, const LegalTrees &legal, const OperationSpan &span)
{
    if (span.begun > span.returned && state == span.returned)
        return "before: " + in_progress(legal, span);
    const std::string operation = legal.operation_of(state);
    return operation.empty() ? "before the first operation" : "after: " + operation;
}

json problem_list(const std::vector<TreeProblem> &problems, const LegalTrees &legal)
{
    json list = json::array();
    for (const TreeProblem &problem : problems)
        list.push_back({{"kind", problem.kind},
                        {"path", problem.path},
                        {"detail", problem.detail},
                        {"operation", legal.operation_of(problem.since)}});
    return list;
}

json differences(const TreeVerdict &verdict, const LegalTrees &legal, const OperationSpan &span)
{
    json list = json::array();
    for (const TreeDifference &each : verdict.against) {
        json words = json::array();
        for (const TreeProblem &problem : each.problems) {
            const std::string operation = legal.operation_of(problem.since);
            words.push_back(phrase_of(problem, "") +
                            (operation.empty() ? "" : " (from: " + operation + ")"));
        }
        list.push_back({{"state", each.state},
                        {"as", label_of(each.state, legal, span)},
                        {"differences", words}});
    }
    return list;
}

const char *to_string(agent::FileType type)
{
    constexpr const char *kNames[] = {"file",   "directory", "symlink", "fifo",
                                      "socket", "character", "block",   "unknown"};
    return kNames[std::min<std::size_t>(static_cast<std::size_t>(type), 7)];
}

json entry_json(const TreeEntry &entry)
{
    json result = {{"path", entry.path},
                   {"type", to_string(entry.type)},
                   {"inode", entry.inode},
                   {"mode", fmt::format("{:o}", entry.mode)},
                   {"user", entry.user},
                   {"group", entry.group},
                   {"link_count", entry.link_count}};
    if (!entry.failed_step.empty())
        result["error"] = {{"step", entry.failed_step}, {"error_number", entry.error_number}};
    if (entry.type == agent::FileType::symlink)
        result["target"] = entry.target;
    for (const agent::TreeAttribute &attribute : entry.attributes)
        result["attributes"][attribute.name] = attribute.value;
    if (entry.type == agent::FileType::file) {
        result["size"] = entry.size;
        json hashes = json::array();
        for (std::size_t block = 0; block < block_count(entry); ++block)
            hashes.push_back(fmt::format("{:016x}", hash_at(entry, block)));
        result["block_hashes"] = hashes;
    }
    return result;
}

} // namespace

std::string title_of(const TreeVerdict &verdict, const agent::TreeDump &dump,
                     const LegalTrees &legal, const OperationSpan &span, const Promise &promise)
{
    const std::string current = in_progress(legal, span);
    const History &history = legal.history();
    if (!current.empty() && current == legal.operation_of(span.begun)) { // it alone
        const std::string words = rename_words(Tree(dump.entries), history.tree_at(span.returned),
                                               history.tree_at(span.begun));
        if (!words.empty())
            return current + ": " + words;
    }
    const TreeProblem &first = verdict.problems.front();
    const std::string made = legal.operation_of(first.since);
    std::string title;
    if (!made.empty() && first.since <= verdict.first_state) {
        const bool on_return = promise.durable == run::Durability::on_return;
        title = fmt::format("{}: {} though it {}", made, phrase_of(first, made),
                            on_return ? "has returned" : "was synced");
    } else if (!made.empty() || !current.empty()) {
        const std::string &operation = made.empty() ? current : made;
        title = fmt::format("{}: {}", operation, phrase_of(first, operation));
    } else {
        const std::string last = legal.operation_of(span.returned);
        title = fmt::format("{}: {}", last.empty() ? "before the first operation" : "after " + last,
                            phrase_of(first, ""));
    }
    return title.substr(0, kTitleLimit);
}

Evidence tree_evidence(const std::string &oracle, const TreeVerdict &verdict,
                       const agent::TreeDump &tree, const LegalTrees &legal,
                       const OperationSpan &span, const run::ChosenPromise &promise)
{
    Evidence evidence;
    evidence.oracle = oracle;
    evidence.details =
        Details(json{{"promise", {{"name", promise.name}, {"source", promise.source}}},
                     {"returned", legal.operation_of(span.returned)},
                     {"in_progress", in_progress(legal, span)},
                     {"durable", legal.operation_of(verdict.first_state)},
                     {"nearest", label_of(verdict.nearest, legal, span)},
                     {"states", {verdict.first_state, verdict.last_state}},
                     {"problems", problem_list(verdict.problems, legal)},
                     {"against", differences(verdict, legal, span)}});
    if (verdict.legal) {
        evidence.verdict = Verdict::infra_error;
        evidence.summary = "the tree is too large to be compared byte by byte";
        return evidence;
    }
    const TreeProblem &first = verdict.problems.front();
    evidence.verdict = Verdict::inconsistent;
    // Without the operation: a name that one loses shows at the crash points of the next ones too.
    evidence.summary = fmt::format("{}: {}", first.kind, first.path);
    evidence.title = title_of(verdict, tree, legal, span, promise.promise);
    return evidence;
}

json tree_json(const agent::TreeDump &tree)
{
    json entries = json::array();
    for (const TreeEntry &entry : tree.entries)
        entries.push_back(entry_json(entry));
    return {{"truncated", tree.truncated}, {"entries", entries}};
}

} // namespace fencepost::oracle
