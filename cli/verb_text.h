// SPDX-License-Identifier: GPL-2.0-or-later
// What the command line says about itself, as values: the one source of --help, the manual page
// and shell completion.
#pragma once

#include <string>
#include <vector>

namespace fencepost::cli {

struct Example {
    std::string command; // without "fencepost "
    std::string what;
};

struct OptionText {
    std::vector<std::string> names = {}; // "-o", "--output"; of an argument by place one, "RUN"
    std::string value = {};              // what it takes: "TEXT"; empty: a flag
    std::string description = {};
    std::string default_value = {};
    std::vector<std::string> choices = {};
    bool by_place = false;
    bool required = false;
};

struct VerbText {
    std::string name = {}; // without those of the verbs above it
    std::string description = {};
    std::vector<OptionText> options = {};
    std::vector<std::string> paragraphs = {}; // behind the options
    std::vector<Example> examples = {};
    std::vector<VerbText> verbs = {};
};

} // namespace fencepost::cli
