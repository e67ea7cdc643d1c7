// SPDX-License-Identifier: GPL-2.0-or-later
// See spec_reader.h.
#define TOML_IMPLEMENTATION
#include "replayer/run/spec_reader.h"

#include <algorithm>

#include "replayer/run/spec_examples.h"

namespace fencepost::run {

namespace {

std::string place(const std::string &name, const toml::source_region &region)
{
    return fmt::format("{}:{}:{}", name, region.begin.line, region.begin.column);
}

// "must be a string such as "128M"", with an example of that field.
std::string wanted(const std::string &field, const char *type)
{
    const std::string_view example = example_of(field);
    return example.empty() ? fmt::format("{} must be {}", field, type)
                           : fmt::format("{} must be {} such as {}", field, type, example);
}

} // namespace

TableReader::TableReader(const toml::table &table, std::string name, std::string path,
                         std::vector<std::string> known)
    : table_(table), name_(std::move(name)), path_(std::move(path)), known_(std::move(known))
{
    for (const auto &entry : table_) {
        const std::string field(entry.first.str());
        if (std::find(known_.begin(), known_.end(), field) != known_.end())
            continue;
        std::string list;
        for (const std::string &one : known_)
            list += (list.empty() ? "" : ", ") + one;
        fail(ErrorKind::usage, "{}: there is no field '{}'; {} has {}",
             place(name_, entry.first.source()), full(field), path_.empty() ? "a spec" : path_,
             list);
    }
}

std::string TableReader::full(const std::string &field) const
{
    return path_.empty() ? field : path_ + "." + field;
}

void TableReader::refuse_at(const toml::node *node, const std::string &message) const
{
    fail(ErrorKind::usage, "{}: {}", place(name_, node ? node->source() : table_.source()),
         message);
}

const toml::node *TableReader::find(const std::string &field) const
{
    CHECK(std::find(known_.begin(), known_.end(), field) != known_.end(),
          "a field that is read is a known field");
    return table_.get(field);
}

unsigned TableReader::line_of(const std::string &field) const
{
    const toml::node *node = table_.get(field);
    return node ? node->source().begin.line : table_.source().begin.line;
}

std::optional<std::string> TableReader::text(const std::string &field) const
{
    const toml::node *node = find(field);
    if (!node)
        return std::nullopt;
    const auto *value = node->as_string();
    if (!value)
        refuse_at(node, wanted(full(field), "a string"));
    if (value->get().find('\0') != std::string::npos)
        refuse_at(node, fmt::format("{} holds a NUL character", full(field)));
    return value->get();
}

std::optional<bool> TableReader::flag(const std::string &field) const
{
    const toml::node *node = find(field);
    if (!node)
        return std::nullopt;
    if (!node->is_boolean())
        refuse_at(node, fmt::format("{} must be true or false", full(field)));
    return node->as_boolean()->get();
}

std::optional<std::int64_t> TableReader::number(const std::string &field, std::int64_t least,
                                                std::int64_t most) const
{
    const toml::node *node = find(field);
    if (!node)
        return std::nullopt;
    const auto *value = node->as_integer();
    if (!value || value->get() < least || value->get() > most)
        refuse_at(node,
                  fmt::format("{} must be a whole number from {} to {}", full(field), least, most));
    return value->get();
}

std::optional<std::vector<std::string>> TableReader::texts(const std::string &field) const
{
    const toml::node *node = find(field);
    if (!node)
        return std::nullopt;
    const toml::array *array = node->as_array();
    if (!array)
        refuse_at(node, wanted(full(field), "a list of strings"));
    std::vector<std::string> result;
    for (const toml::node &element : *array) {
        if (!element.is_string() || element.as_string()->get().find('\0') != std::string::npos)
            refuse_at(&element, wanted(full(field), "a list of strings"));
        result.push_back(element.as_string()->get());
    }
    return result;
}

std::optional<TableReader> TableReader::table(const std::string &field,
                                              const std::vector<std::string> &known) const
{
    const toml::node *node = find(field);
    if (!node || !node->is_table())
        return std::nullopt;
    return TableReader(*node->as_table(), name_, full(field), known);
}

std::optional<std::vector<std::string>> TableReader::assignments(const std::string &field) const
{
    const toml::node *node = find(field);
    if (!node)
        return std::nullopt;
    const toml::table *table = node->as_table();
    if (!table)
        refuse_at(node, wanted(full(field), "a table of strings"));
    std::vector<std::string> result;
    for (const auto &entry : *table) {
        const std::string key(entry.first.str());
        if (!entry.second.is_string() || key.empty() ||
            key.find_first_of(std::string("=\0", 2)) != std::string::npos ||
            entry.second.as_string()->get().find('\0') != std::string::npos)
            refuse_at(&entry.second, wanted(full(field), "a table of strings"));
        result.push_back(key + "=" + entry.second.as_string()->get());
    }
    return result;
}

} // namespace fencepost::run
