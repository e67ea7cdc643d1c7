// SPDX-License-Identifier: GPL-2.0-or-later
// See spec_document.h.
#include "replayer/run/spec_document.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::run {

namespace fs = std::filesystem;

namespace {

// What fits into a guest's mailbox with room to spare.
constexpr std::uintmax_t kFileLimit = 30ull << 20;

// What toml++ 3.3 does not survive: control characters, and other alphabets than ASCII outside
// of strings and comments. TOML has neither.
void check_characters(std::string_view text, const std::string &name)
{
    unsigned line = 1;
    unsigned column = 1;
    bool comment = false;
    std::string_view string; // the quotes that end the one we are in
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        const auto code = static_cast<unsigned char>(c);
        if ((code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f)
            fail(ErrorKind::usage, "{}:{}:{}: a control character ({:#04x})", name, line, column,
                 code);
        if (code >= 0x80 && !comment && string.empty())
            fail(ErrorKind::usage, "{}:{}:{}: only strings and comments have such characters", name,
                 line, column);
        std::size_t length = 1;
        if (c == '\n') {
            comment = false;
            if (string.size() == 1)
                string = {};
        } else if (!string.empty()) {
            if (c == '\\' && string.front() == '"' && at + 1 < text.size() && text[at + 1] != '\n')
                length = 2;
            else if (text.substr(at).starts_with(string))
                length = std::exchange(string, std::string_view()).size();
        } else if (c == '#') {
            comment = true;
        } else if (!comment && (c == '"' || c == '\'')) {
            const std::string_view three = text.substr(at, 3);
            string = three == "\"\"\"" || three == "'''" ? three : three.substr(0, 1);
            length = string.size();
        }
        at += length;
        column = c == '\n' ? 1 : column + static_cast<unsigned>(length);
        line += c == '\n';
    }
}

toml::table parse_toml(std::string_view text, const std::string &name)
{
    check_characters(text, name);
    try {
        return toml::parse(text, name);
    } catch (const toml::parse_error &error) {
        fail(ErrorKind::usage, "{}:{}:{}: {}", name, error.source().begin.line,
             error.source().begin.column, error.description());
    } catch (const TomlGaveUp &) {
        fail(ErrorKind::usage,
             "{}: this is not TOML; look for a table or field with a strange name", name);
    }
}

} // namespace

SpecDocument::SpecDocument(std::string_view text, std::string name, fs::path directory,
                           FilesFrom files, const std::vector<std::string> &tables)
    : name_(std::move(name)), directory_(directory.empty() ? "." : std::move(directory)),
      files_(files), tables_(tables), document_(parse_toml(text, name_))
{
    root(); // refuses tables that there are not
}

void SpecDocument::refuse(const std::string &table, const std::string &message) const
{
    root().refuse(table, "{}", message);
}

std::optional<TableReader> SpecDocument::table(const std::string &name,
                                               const std::vector<std::string> &fields) const
{
    const toml::node *node = document_.get(name);
    if (!node)
        return std::nullopt;
    if (!node->is_table())
        root().refuse(name, "{} is a table: write [{}]", name, name);
    return TableReader(*node->as_table(), name_, name, fields);
}

std::vector<TableReader> SpecDocument::tables(const std::string &name,
                                              const std::vector<std::string> &fields) const
{
    std::vector<TableReader> result;
    const toml::node *node = document_.get(name);
    if (!node)
        return result;
    if (node->is_table()) {
        result.emplace_back(*node->as_table(), name_, name, fields);
    } else if (node->is_array_of_tables()) {
        for (const toml::node &element : *node->as_array())
            result.emplace_back(*element.as_table(), name_, name, fields);
    } else {
        root().refuse(name, "{} is a table: write [{}] or [[{}]]", name, name, name);
    }
    return result;
}

fs::path SpecDocument::host_path(const TableReader &reader, const std::string &field,
                                 const std::string &text) const
{
    if (text.empty())
        reader.refuse(field, "{} is the name of a file", field);
    const fs::path path = fs::path(text).is_absolute() ? fs::path(text) : directory_ / text;
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error)
        reader.refuse(field, "{}: {}", path.string(), error.message());
    if (files_ == FilesFrom::anywhere)
        return real;
    const fs::path root = fs::canonical(directory_);
    const auto parted = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    if (parted.first != root.end())
        reader.refuse(
            field, "{} is not below the spec's directory; --files-from-anywhere allows it", text);
    return real;
}

std::string SpecDocument::contents(const TableReader &reader, const std::string &field,
                                   const fs::path &path) const
{
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        reader.refuse(field, "{} is not a file", path.string());
    if (fs::file_size(path, error) > kFileLimit || error)
        reader.refuse(field, "{} is larger than {} bytes", path.string(), kFileLimit);
    return read_file(path);
}

} // namespace fencepost::run
