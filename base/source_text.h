// SPDX-License-Identifier: GPL-2.0-or-later
// A text that a user wrote, with its place, for messages about what is in it.
#pragma once

#include <filesystem>
#include <string>

namespace fencepost {

struct SourceText {
    std::string text;
    std::string name;                     // of the file that it is in
    unsigned first_line = 1;              // of the text in that file
    std::filesystem::path directory = {}; // of files that it names, where it may name some
};

} // namespace fencepost
