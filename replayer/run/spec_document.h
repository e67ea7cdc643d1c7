// SPDX-License-Identifier: GPL-2.0-or-later
// A spec as TOML: its tables, and the files of the host that it names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/run/spec.h"
#include "replayer/run/spec_reader.h"

namespace fencepost::run {

class SpecDocument {
public:
    // A usage error with its place for what is not TOML. `tables`: all that a spec may have.
    SpecDocument(std::string_view text, std::string name, std::filesystem::path directory,
                 FilesFrom files, const std::vector<std::string> &tables);

    const std::string &name() const { return name_; }
    // A usage error about the document as a whole.
    [[noreturn]] void refuse(const std::string &table, const std::string &message) const;
    // The table of that name; nothing if there is none.
    std::optional<TableReader> table(const std::string &name,
                                     const std::vector<std::string> &fields) const;
    // [name] once, or [[name]] any number of times.
    std::vector<TableReader> tables(const std::string &name,
                                    const std::vector<std::string> &fields) const;

    // A file that the field names, relative to the spec's directory.
    std::filesystem::path host_path(const TableReader &reader, const std::string &field,
                                    const std::string &text) const;
    std::string contents(const TableReader &reader, const std::string &field,
                         const std::filesystem::path &path) const;

private:
    TableReader root() const { return TableReader(document_, name_, "", tables_); }

    std::string name_;
    std::filesystem::path directory_;
    FilesFrom files_;
    std::vector<std::string> tables_;
    toml::table document_;
};

} // namespace fencepost::run
