// SPDX-License-Identifier: GPL-2.0-or-later
// One finding with everything about it, as lines for a terminal.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

// The texts come from a guest: make each line safe (base/terminal_text.h) before it is printed.
std::vector<std::string> finding_lines(const ShownFinding &shown);

// Parts of it, for other formats.

// What broke, in one sentence.
std::string sentence_of(const findings::Finding &finding);
// Of a row that is a marker: "begins: rename a b".
std::string marker_words(const TimelineRow &row);
// Of a row with a role: "decides", "here", or the rule's words.
std::string role_mark(const TimelineRow &row);
// "3 of 4 stores in flight persist"
std::string power_failure_words(const Timeline &timeline);
// "The store that is lost: event 734, in: write a".
std::string place_title(const findings::Place &place);
// Those whose call stacks matter: not the last store where others decide.
std::vector<const findings::Place *> places_with_stack(const findings::Finding &finding);

} // namespace fencepost::report
