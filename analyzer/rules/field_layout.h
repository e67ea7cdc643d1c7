// SPDX-License-Identifier: GPL-2.0-or-later
// Where the fields of a struct are, from the debug information of a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/rules/text_lines.h"

namespace fencepost::rules {

// `struct RANGE TYPE in FILE`: the named range holds such a struct.
struct FieldSource {
    TextLine line;
    std::string range;
    std::string type;
    std::string file;
};

struct FieldPlace {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

class FieldLayouts {
public:
    // A file without debug information, or without the type, is an Error(usage) with its line.
    explicit FieldLayouts(const std::vector<FieldSource> &sources);

    bool knows(const std::string &range) const { return types_.contains(range); }
    // `line` is where the user asked; a field that is not there is an Error(usage) with its place.
    FieldPlace place(const std::string &range, const std::vector<std::string> &fields,
                     const TextLine &line) const;

private:
    struct Field {
        std::string name;
        std::uint64_t offset;
        std::uint64_t size;
        std::string type; // key of structs_; empty = no struct
    };
    struct Struct {
        std::uint64_t size = 0;
        std::vector<Field> fields;
    };
    friend class DwarfReader;

    std::map<std::string, std::string> types_; // range -> key
    std::map<std::string, Struct> structs_;    // FILE:TYPE
};

} // namespace fencepost::rules
