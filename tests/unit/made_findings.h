// SPDX-License-Identifier: GPL-2.0-or-later
// Findings of rules and of crash states as tests need them.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/findings/finding.h"

namespace fencepost::report {

using findings::Decides;
using findings::Finding;
using findings::Kind;
using findings::Severity;

inline symbols::CodePlace code(const std::string &function, std::uint64_t offset)
{
    return {.function = function, .offset = offset, .named = true, .module = "/bin/app"};
}

inline findings::Place place(std::string_view role, const std::string &function,
                             const std::string &caller = "main", const std::string &operation = "")
{
    return {.role = std::string(role),
            .at = {.event = {7, 3, 1}, .code = code(function, 8), .callers = {code(caller, 4)}},
            .operation = operation};
}

inline Finding of_rule(const std::string &function, const std::string &caller = "main")
{
    return {.id = "missing-flush-1",
            .title = "a store was not flushed by the end of the run",
            .summary = "a store was not flushed",
            .count = 1,
            .places = {place(findings::kAt, function, caller), place("earlier flush", "flush")},
            .rule = "missing-flush",
            .first_seq = 7,
            .last_seq = 7};
}

inline Finding of_states(std::string_view role, const std::string &function)
{
    Finding finding = {.id = "0123456789ab",
                       .kind = Kind::crash_state,
                       .title = "record 2 is lost",
                       .summary = "a record is lost",
                       .count = 3,
                       .places = {place(role, function, "main", "write a")},
                       .evidence = {{"fsck", "inconsistent", "", "it says \xff", "{\"exit\": 4}"}},
                       .verdict = "inconsistent",
                       .oracle = "fsck",
                       .state = "1@2",
                       .image = 5};
    if (role != findings::kLast)
        finding.places.push_back(place(findings::kLast, "fence"));
    if (role == findings::kAbsent)
        finding.absent_sites = {3};
    if (role == findings::kPresent)
        finding.present_sites = {3};
    finding.decides = with_stores(Decides::neither, !finding.absent_sites.empty(),
                                  !finding.present_sites.empty());
    return finding;
}

} // namespace fencepost::report
