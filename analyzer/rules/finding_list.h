// SPDX-License-Identifier: GPL-2.0-or-later
// Findings while the trace is read: one for each rule, site and stack, however often it happens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/rules/call_paths.h"
#include "analyzer/rules/line_table.h"

namespace fencepost::rules {

struct RuleInfo;

struct Draft {
    const RuleInfo *rule = nullptr;
    findings::Severity severity = findings::Severity::bug;
    Origin at;
    std::uint64_t count = 0;
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    std::vector<std::uint64_t> lines = {};
    bool more_lines = false;
    bool has_event = true;
    // What the rule says, filled when the finding is new.
    std::string message = {};
    std::string fix = {};
    std::string note = {};
    std::string other_role = {};
    Origin other = {};
    std::optional<std::uint64_t> crash_seq = {};
};

class FindingList {
public:
    FindingList(const symbols::CodeNames &code, const CallPaths &paths) : code_(code), paths_(paths)
    {
    }

    static constexpr std::uint64_t kNoLine = UINT64_MAX;

    // Counts one occurrence. Returns the finding when the rule must say what it is: it is new, or
    // has turned out to be worse than it was.
    Draft *hit(const RuleInfo &rule, findings::Severity severity, const Origin &at,
               std::uint64_t line = kNoLine);
    // Takes out findings of a rule that have turned out to be none.
    void drop_if(const RuleInfo &rule, const std::function<bool(const Draft &)> &is_none);

    std::size_t size() const { return drafts_.size(); }
    // By severity, then by first event, with names and ids: one for each rule, place in the code
    // and chain of calling functions, in whichever process. Empties the list.
    std::vector<findings::Finding> name_all();

private:
    struct Key {
        const RuleInfo *rule;
        trace::SiteId site;
        trace::StackId stack;
        bool operator==(const Key &) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const
        {
            return (reinterpret_cast<std::uintptr_t>(key.rule) >> 4) ^
                   ((std::uint64_t{key.site} << 32 | key.stack) * 0x9e3779b97f4a7c15u);
        }
    };

    const symbols::CodeNames &code_;
    const CallPaths &paths_;
    std::vector<Draft> drafts_;
    std::unordered_map<Key, std::uint32_t, KeyHash> index_;
};

} // namespace fencepost::rules
