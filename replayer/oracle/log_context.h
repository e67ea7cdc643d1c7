// SPDX-License-Identifier: GPL-2.0-or-later
// What stands around a line of a kernel log that matters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fencepost::oracle {

// The text of a record, with that of the next one if it says nothing alone: "nova error: " is
// printed by one call and what is wrong by another. `rest`: the log behind the record.
std::string with_next_line(std::string_view text, std::string_view rest);

// A few records before and after the first one with this text (as with_next_line() made it), and
// the record itself; empty: there is none.
std::vector<std::string> neighbours_of(std::string_view log, std::string_view text);

} // namespace fencepost::oracle
