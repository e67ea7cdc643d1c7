// SPDX-License-Identifier: GPL-2.0-or-later
// TOML tables read field by field: types checked, unknown fields refused, each with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace fencepost::run {

// What toml++ takes for its own mistake and is the user's: some syntax errors fail an assertion of
// its parser (`[[@x]]` in 3.3). They become an exception without a place.
struct TomlGaveUp {};
[[noreturn]] inline void toml_gives_up()
{
    throw TomlGaveUp();
}

} // namespace fencepost::run

// Its functions are compiled in spec_reader.cpp alone.
#define TOML_HEADER_ONLY 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) ((condition) ? void(0) : ::fencepost::run::toml_gives_up())
#include <toml++/toml.h>

namespace fencepost::run {

class TableReader {
public:
    // `path` is the table's name in messages; `known` are the fields that it may have.
    TableReader(const toml::table &table, std::string name, std::string path,
                std::vector<std::string> known);

    std::optional<std::string> text(const std::string &field) const;
    std::optional<bool> flag(const std::string &field) const;
    std::optional<std::int64_t> number(const std::string &field, std::int64_t least,
                                       std::int64_t most) const;
    std::optional<std::vector<std::string>> texts(const std::string &field) const;
    // A table of texts, as NAME=value.
    std::optional<std::vector<std::string>> assignments(const std::string &field) const;
    bool has(const std::string &field) const { return table_.contains(field); }
    // A table in this one; nothing: there is none, or it is something else.
    std::optional<TableReader> table(const std::string &field,
                                     const std::vector<std::string> &known) const;

    // Throws a usage error at the field, or at the table if it has none.
    template <typename... Args>
    [[noreturn]] void refuse(const std::string &field, fmt::format_string<Args...> format,
                             Args &&...args) const
    {
        refuse_at(table_.get(field), fmt::format(format, std::forward<Args>(args)...));
    }
    // Line of the field's value in the file.
    unsigned line_of(const std::string &field) const;
    const std::string &file_name() const { return name_; }

private:
    [[noreturn]] void refuse_at(const toml::node *node, const std::string &message) const;
    const toml::node *find(const std::string &field) const;
    std::string full(const std::string &field) const;

    const toml::table &table_;
    std::string name_;
    std::string path_;
    std::vector<std::string> known_;
};

} // namespace fencepost::run
