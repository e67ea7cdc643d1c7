// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_list.h.
#include "analyzer/rules/finding_list.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "analyzer/findings/site_name.h"
#include "analyzer/rules/rule.h"
#include "base/digest.h"

namespace fencepost::rules {

using findings::Finding;

namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kMostCalls = 4; // shown of one finding
constexpr std::string_view kAlsoHere = "also called here";

void add_line(Draft &draft, std::uint64_t line)
{
    if (line == FindingList::kNoLine ||
        std::find(draft.lines.begin(), draft.lines.end(), line) != draft.lines.end())
        return;
    if (draft.lines.size() < kMostLines)
        draft.lines.push_back(line);
    else
        draft.more_lines = true;
}

void add_code(Digest &digest, const symbols::CodePlace &code)
{
    digest.add(code.module).add(code.function);
}

// Of names only, so that it stays the same when code moves; recursion counts once.
std::string stable_id(const Finding &finding)
{
    Digest digest;
    digest.add(finding.rule);
    const symbols::EventPlace &at = finding.places.front().at;
    add_code(digest, at.code);
    const symbols::CodePlace *before = nullptr;
    for (const symbols::CodePlace &caller : at.callers) {
        if (!before || before->function != caller.function || before->module != caller.module)
            add_code(digest, caller);
        before = &caller;
    }
    return fmt::format("{}-{}", finding.rule, digest.hex().substr(0, 8));
}

using CodeKey = std::tuple<std::string, std::uint64_t>;

// What one finding is about: its rule, functions from the inside out, and the offset in the
// innermost. Of what a copy routine stores, that of its call: its author wrote one strncpy(), not
// the eight stores that it makes.
CodeKey code_key(const Finding &finding)
{
    return {finding.id, findings::responsible_code(finding.places.front().at).offset};
}

bool same_calls(const symbols::EventPlace &a, const symbols::EventPlace &b)
{
    return std::equal(a.callers.begin(), a.callers.end(), b.callers.begin(), b.callers.end(),
                      [](const symbols::CodePlace &one, const symbols::CodePlace &other) {
                          return one.function == other.function && one.offset == other.offset;
                      });
}

// The same functions called each other elsewhere too: a reader wants to see where.
void add_calls(const Finding &other, Finding &finding)
{
    const symbols::EventPlace &at = other.places.front().at;
    std::size_t calls = 0;
    for (const findings::Place &place : finding.places)
        if (place.role == findings::kAt || place.role == kAlsoHere) {
            ++calls;
            if (same_calls(place.at, at))
                return;
        }
    if (calls < kMostCalls && finding.has_event && other.has_event)
        finding.places.push_back({std::string(kAlsoHere), at});
}

void merge(const Finding &other, Finding &finding)
{
    add_calls(other, finding);
    finding.count += other.count;
    finding.first_seq = std::min(finding.first_seq, other.first_seq);
    finding.last_seq = std::max(finding.last_seq, other.last_seq);
    std::vector<std::uint64_t> lines;
    std::set_union(finding.lines.begin(), finding.lines.end(), other.lines.begin(),
                   other.lines.end(), std::back_inserter(lines));
    finding.more_lines = finding.more_lines || other.more_lines || lines.size() > kMostLines;
    lines.resize(std::min(lines.size(), kMostLines));
    finding.lines = std::move(lines);
}

// Of several processes, and of several calls by the same functions, one; the first of them is told.
std::vector<Finding> merged(std::vector<Finding> all)
{
    std::vector<Finding> result;
    std::map<CodeKey, std::size_t> known;
    for (Finding &finding : all) {
        const auto [same, added] = known.emplace(code_key(finding), result.size());
        if (added)
            result.push_back(std::move(finding));
        else
            merge(finding, result[same->second]);
    }
    return result;
}

// Several places of one function have one name: they are numbered by where they are in it.
void number_ids(std::vector<Finding> &all)
{
    std::map<CodeKey, Finding *> by_code;
    for (Finding &finding : all)
        by_code.emplace(code_key(finding), &finding);
    std::map<std::string, unsigned> times;
    for (const auto &[key, finding] : by_code)
        if (const unsigned time = ++times[std::get<0>(key)]; time > 1)
            finding->id += fmt::format("-{}", time);
}

} // namespace

Draft *FindingList::hit(const RuleInfo &rule, findings::Severity severity, const Origin &at,
                        std::uint64_t line)
{
    const auto [known, added] =
        index_.emplace(Key{&rule, at.site, paths_.without_recursion(at.stack)},
                       static_cast<std::uint32_t>(drafts_.size()));
    if (added)
        drafts_.push_back({.rule = &rule,
                           .severity = severity,
                           .at = at,
                           .first_seq = at.seq,
                           .last_seq = at.seq});
    Draft &draft = drafts_[known->second];
    ++draft.count;
    draft.first_seq = std::min(draft.first_seq, at.seq);
    draft.last_seq = std::max(draft.last_seq, at.seq);
    if (draft.lines.size() < kMostLines || !draft.more_lines)
        add_line(draft, line);
    const bool worse = severity < draft.severity;
    if (!added && !worse)
        return nullptr;
    draft.severity = severity;
    draft.at = at;
    return &draft;
}

void FindingList::drop_if(const RuleInfo &rule, const std::function<bool(const Draft &)> &is_none)
{
    std::erase_if(drafts_,
                  [&](const Draft &draft) { return draft.rule == &rule && is_none(draft); });
    index_.clear();
    for (std::size_t i = 0; i < drafts_.size(); ++i)
        index_.emplace(
            Key{drafts_[i].rule, drafts_[i].at.site, paths_.without_recursion(drafts_[i].at.stack)},
            static_cast<std::uint32_t>(i));
}

std::vector<Finding> FindingList::name_all()
{
    std::vector<Finding> result;
    for (Draft &draft : drafts_) {
        Finding finding;
        finding.rule = draft.rule->name;
        finding.severity = draft.severity;
        finding.title = std::move(draft.message);
        finding.summary = draft.rule->sentence;
        finding.fix = std::move(draft.fix);
        finding.note = std::move(draft.note);
        finding.count = draft.count;
        finding.first_seq = draft.first_seq;
        finding.last_seq = draft.last_seq;
        finding.has_event = draft.has_event;
        std::sort(draft.lines.begin(), draft.lines.end());
        finding.lines = std::move(draft.lines);
        finding.more_lines = draft.more_lines;
        finding.places.push_back({std::string(findings::kAt), code_.place(draft.at)});
        finding.crash_seq = draft.crash_seq;
        if (!draft.other_role.empty())
            finding.places.push_back({std::move(draft.other_role), code_.place(draft.other)});
        finding.id = stable_id(finding);
        result.push_back(std::move(finding));
    }
    drafts_.clear();
    index_.clear();
    const auto order = [](const Finding &f) {
        return std::tuple(f.severity, f.first_seq, std::string_view(f.rule),
                          f.places.front().at.code.offset);
    };
    std::sort(result.begin(), result.end(),
              [&](const auto &a, const auto &b) { return order(a) < order(b); });
    result = merged(std::move(result));
    number_ids(result);
    return result;
}

} // namespace fencepost::rules
