// SPDX-License-Identifier: GPL-2.0-or-later
// See suppressions.h.
#include "analyzer/rules/suppressions.h"

#include <algorithm>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/transaction_tables.h"

namespace fencepost::rules {

namespace {

bool matches(const Suppression &one, const findings::Finding &finding)
{
    const symbols::EventPlace &at = finding.places.front().at;
    const auto fits = [](const std::string &glob, const std::string &text) {
        return glob.empty() || matches_glob(glob, text);
    };
    const auto calls = [&](const std::string &glob) {
        return std::any_of(
            at.callers.begin(), at.callers.end(),
            [&](const symbols::CodePlace &caller) { return matches_glob(glob, caller.function); });
    };
    return fits(one.rule, finding.rule) && fits(one.function, at.code.function) &&
           fits(one.module, at.code.module) && fits(one.id, finding.id) &&
           (one.caller.empty() || calls(one.caller)) &&
           (one.within.empty() || matches_glob(one.within, at.code.function) || calls(one.within));
}

} // namespace

std::vector<Suppression> parse_suppressions(const std::vector<TextLine> &lines)
{
    std::vector<Suppression> result;
    for (const TextLine &line : lines) {
        Suppression one;
        one.line = line;
        one.rule = line.words[0];
        const bool exists =
            std::any_of(all_rules().begin(), all_rules().end(), [&](const RuleInfo *rule) {
                return matches_glob(one.rule, std::string(rule->name));
            });
        if (!exists)
            line.refuse("there is no rule '{}'; fencepost analyze --list-rules has them", one.rule);
        for (std::size_t i = 1; i < line.words.size(); ++i) {
            const auto word = split_assignment(line.words[i]);
            std::string *field = word.first == "function" ? &one.function
                                 : word.first == "module" ? &one.module
                                 : word.first == "caller" ? &one.caller
                                 : word.first == "within" ? &one.within
                                 : word.first == "id"     ? &one.id
                                                          : nullptr;
            if (!field || word.second.empty())
                line.refuse(
                    "'{}' is not function=GLOB, module=GLOB, caller=GLOB, within=GLOB or id=ID",
                    line.words[i]);
            *field = word.second;
        }
        if (one.rule == "*" && line.words.size() == 1)
            line.refuse("this would silence everything");
        result.push_back(std::move(one));
    }
    return result;
}

std::vector<Suppression> known_code()
{
    return parse_suppressions(split_lines(kKnownCode, "known_code"));
}

void apply_known_code(findings::Report &report)
{
    const std::vector<Suppression> known = known_code();
    report.summary.known_code +=
        std::erase_if(report.findings, [&](const findings::Finding &finding) {
            return std::any_of(known.begin(), known.end(),
                               [&](const Suppression &one) { return matches(one, finding); });
        });
}

void apply(std::vector<Suppression> &suppressions, findings::Report &report)
{
    report.summary.suppressed +=
        std::erase_if(report.findings, [&](const findings::Finding &finding) {
            bool any = false;
            for (Suppression &one : suppressions) {
                if (matches(one, finding)) {
                    ++one.used;
                    any = true;
                }
            }
            return any;
        });
    for (const Suppression &one : suppressions)
        if (one.used == 0)
            report.summary.statements.push_back(
                fmt::format("{}: this suppression matched nothing", one.line.place));
}

} // namespace fencepost::rules
