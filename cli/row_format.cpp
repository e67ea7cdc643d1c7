// SPDX-License-Identifier: GPL-2.0-or-later
// See row_format.h.
#include "cli/row_format.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal_text.h"

namespace fencepost::cli {

namespace {

using trace::Query;
using trace::ValueType;

// Rows that decide how wide the columns of a table are.
constexpr std::size_t kMeasuredRows = 500;

void put(std::string_view text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
}

bool nobody_reads()
{
    return std::ferror(stdout) != 0;
}

std::string hex(std::span<const std::byte> bytes)
{
    std::string text;
    for (const std::byte byte : bytes)
        fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(byte));
    return text;
}

std::string real_text(double number)
{
    const std::string text = fmt::format("{}", number);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

// A value as text that is not escaped in any way. NULL is for the caller.
std::string plain_text(const Query &query, int column)
{
    switch (query.type(column)) {
    case ValueType::integer:
        return std::to_string(query.integer(column));
    case ValueType::real:
        return real_text(query.real(column));
    case ValueType::text:
        return std::string(query.text(column));
    case ValueType::blob:
        return "x'" + hex(query.blob(column)) + "'";
    case ValueType::null:
        break;
    }
    return "";
}

bool is_number(ValueType type)
{
    return type == ValueType::integer || type == ValueType::real;
}

// --- table

struct Cell {
    std::string text;
    std::size_t width = 0; // characters
    bool right = false;
};

Cell cell(std::string_view text, bool right)
{
    Cell made = {.text = terminal_text(text), .right = right};
    made.width = terminal_width(made.text);
    return made;
}

using Row = std::vector<Cell>;

Row table_row(const Query &query)
{
    Row row;
    for (int column = 0; column < query.column_count(); ++column) {
        const ValueType type = query.type(column);
        row.push_back(type == ValueType::null ? cell("NULL", false)
                                              : cell(plain_text(query, column), is_number(type)));
    }
    return row;
}

void print_table_row(const Row &row, const std::vector<std::size_t> &widths)
{
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] > row[i].width ? widths[i] - row[i].width : 0, ' ');
        line += i ? "  " : "";
        line += row[i].right ? padding + row[i].text : row[i].text + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    put(line + "\n");
}

void print_table(Query &query)
{
    Row names;
    for (int column = 0; column < query.column_count(); ++column)
        names.push_back(cell(query.column_name(column), false));
    std::vector<Row> measured;
    bool more = true;
    while (measured.size() < kMeasuredRows && (more = query.step()))
        measured.push_back(table_row(query));
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < names.size(); ++i) {
        widths.push_back(names[i].width);
        for (const Row &row : measured)
            widths[i] = std::max(widths[i], row[i].width);
        names[i].right = !measured.empty() && std::ranges::all_of(measured, [i](const Row &row) {
            return row[i].right || row[i].text == "NULL";
        });
    }
    print_table_row(names, widths);
    Row rule;
    for (const std::size_t width : widths)
        rule.push_back({.text = std::string(width, '-'), .width = width});
    print_table_row(rule, widths);
    for (const Row &row : measured)
        print_table_row(row, widths);
    while (more && !nobody_reads() && query.step())
        print_table_row(table_row(query), widths);
}

// --- CSV (RFC 4180, lines ended by a line feed)

std::string csv_field(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == text.npos)
        return std::string(text);
    std::string quoted = "\"";
    for (const char c : text)
        quoted.append(c == '"' ? 2 : 1, c);
    return quoted + "\"";
}

void print_csv(Query &query)
{
    std::string line;
    for (int column = 0; column < query.column_count(); ++column)
        line.append(column ? "," : "").append(csv_field(query.column_name(column)));
    put(line + "\n");
    std::fflush(stdout); // the first row may take its time
    while (!nobody_reads() && query.step()) {
        line.clear();
        for (int column = 0; column < query.column_count(); ++column) {
            line.append(column ? "," : "");
            // An empty text is told from NULL by its quotes.
            if (query.type(column) == ValueType::text && query.text(column).empty())
                line += "\"\"";
            else
                line += csv_field(plain_text(query, column));
        }
        put(line + "\n");
    }
}

// --- JSON

nlohmann::json json_value(const Query &query, int column)
{
    switch (query.type(column)) {
    case ValueType::integer:
        return query.integer(column);
    case ValueType::real:
        return query.real(column);
    case ValueType::text:
        return std::string(query.text(column));
    case ValueType::blob:
        return hex(query.blob(column));
    case ValueType::null:
        break;
    }
    return nullptr;
}

void print_json_rows(Query &query)
{
    std::vector<std::string> keys = query.unique_names();
    for (std::string &key : keys)
        key = json_text(key);
    const char *before = "\n  {";
    put("[");
    while (!nobody_reads() && query.step()) {
        std::string line = before;
        for (std::size_t i = 0; i < keys.size(); ++i)
            line += (i ? ", " : "") + keys[i] + ": " +
                    json_text(json_value(query, static_cast<int>(i)));
        put(line + "}");
        before = ",\n  {";
    }
    put(*before == ',' ? "\n]\n" : "]\n");
}

} // namespace

void print_rows(Query &query, RowFormat format)
{
    if (query.column_count() == 0)
        return;
    switch (format) {
    case RowFormat::table:
        return print_table(query);
    case RowFormat::csv:
        return print_csv(query);
    case RowFormat::json:
        return print_json_rows(query);
    }
}

} // namespace fencepost::cli
