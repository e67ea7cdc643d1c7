// SPDX-License-Identifier: GPL-2.0-or-later
// What the parser of the command line leaves to us: numbers that are none, and plain words for its
// refusals.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace fencepost::cli {

// Every option of every verb that is a whole number takes decimal digits that fit, and nothing
// else. The parser by itself takes -1 for the largest number and 010 for eight.
void require_whole_numbers(CLI::App &app);

// One sentence on what is wrong with the line, and where to read more.
std::string usage_sentence(const CLI::App &app, const CLI::ParseError &error,
                           const std::vector<std::string> &line);

} // namespace fencepost::cli
