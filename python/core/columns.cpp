// SPDX-License-Identifier: GPL-2.0-or-later
// See columns.h.
#include "python/core/columns.h"

#include <algorithm>

#include <pybind11/numpy.h>

#include "base/error.h"
#include "python/core/arrays.h"

namespace fencepost::python {

using trace::ValueType;

namespace {

// A text of a trace may be anything.
py::str text_object(const std::string &text)
{
    return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
        text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

struct ToObject {
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(std::int64_t number) const { return py::int_(number); }
    py::object operator()(double number) const { return py::float_(number); }
    py::object operator()(const std::string &text) const { return text_object(text); }
    py::object operator()(const std::vector<std::byte> &bytes) const
    {
        return py::bytes(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    }
};

} // namespace

void Column::add_text(std::string_view text)
{
    const auto next = static_cast<std::int32_t>(texts_.size());
    const auto [known, is_new] = code_of_.try_emplace(std::string(text), next);
    if (is_new)
        texts_.emplace_back(text);
    codes_.push_back(known->second);
}

bool Column::is_missing(std::size_t row) const
{
    return row < null_.size() && null_[row];
}

Column::Value Column::value_at(std::size_t row) const
{
    if (is_missing(row))
        return {};
    switch (kind_) {
    case Kind::integer:
        return integers_[row];
    case Kind::real:
        return reals_[row];
    case Kind::text:
        return texts_[static_cast<std::size_t>(codes_[row])];
    default:
        return {};
    }
}

void Column::become(Kind kind)
{
    if (kind_ == Kind::integer && kind == Kind::real) {
        reals_.assign(integers_.begin(), integers_.end());
    } else if (kind == Kind::mixed) {
        for (std::size_t row = 0; row < rows_; ++row)
            mixed_.push_back(value_at(row));
    } else {
        integers_.resize(kind == Kind::integer ? rows_ : 0);
        reals_.resize(kind == Kind::real ? rows_ : 0);
        codes_.resize(kind == Kind::text ? rows_ : 0, -1);
    }
    kind_ = kind;
}

void Column::add(const trace::Query &query, int column)
{
    const ValueType type = query.type(column);
    if (type == ValueType::null) {
        null_.resize(rows_ + 1);
        null_[rows_] = 1;
    }
    const Kind wanted = type == ValueType::null      ? kind_
                        : type == ValueType::integer ? (kind_ == Kind::real ? kind_ : Kind::integer)
                        : type == ValueType::real    ? Kind::real
                        : type == ValueType::text    ? Kind::text
                                                     : Kind::mixed;
    if (wanted != kind_ && kind_ != Kind::mixed) {
        const bool fits = kind_ == Kind::null || (kind_ == Kind::integer && wanted == Kind::real);
        become(fits ? wanted : Kind::mixed);
    }
    switch (kind_) {
    case Kind::null:
        break;
    case Kind::integer:
        integers_.push_back(query.integer(column)); // 0 of NULL
        break;
    case Kind::real:
        reals_.push_back(query.real(column));
        break;
    case Kind::text:
        if (type == ValueType::null)
            codes_.push_back(-1);
        else
            add_text(query.text(column));
        break;
    case Kind::mixed: {
        const auto blob =
            type == ValueType::blob ? query.blob(column) : std::span<const std::byte>();
        mixed_.push_back(type == ValueType::integer ? Value(query.integer(column))
                         : type == ValueType::real  ? Value(query.real(column))
                         : type == ValueType::text  ? Value(std::string(query.text(column)))
                         : type == ValueType::blob
                             ? Value(std::vector<std::byte>(blob.begin(), blob.end()))
                             : Value());
    }
    }
    ++rows_;
}

py::object Column::missing()
{
    if (null_.empty())
        return py::none();
    null_.resize(rows_);
    return array_of(std::move(null_)).attr("view")("bool");
}

py::tuple Column::take()
{
    switch (kind_) {
    case Kind::integer:
        return py::make_tuple("integer", array_of(std::move(integers_)), missing());
    case Kind::real:
        return py::make_tuple("real", array_of(std::move(reals_)), missing());
    case Kind::text: {
        py::list texts;
        for (const std::string &text : texts_)
            texts.append(text_object(text));
        return py::make_tuple("text", array_of(std::move(codes_)), texts);
    }
    case Kind::mixed: {
        py::list values;
        for (const Value &value : mixed_)
            values.append(std::visit(ToObject(), value));
        return py::make_tuple("mixed", values);
    }
    case Kind::null:
        break;
    }
    return py::make_tuple("null", rows_);
}

arrow::Column Column::take_bytes() const
{
    std::vector<std::byte> all;
    std::vector<std::int64_t> ends = {0};
    for (const Value &value : mixed_) {
        if (const auto *bytes = std::get_if<std::vector<std::byte>>(&value))
            all.insert(all.end(), bytes->begin(), bytes->end());
        else if (!std::holds_alternative<std::monostate>(value))
            fail(ErrorKind::usage, "its values have several types, which a column of Arrow cannot "
                                   "have: CAST them to one");
        ends.push_back(static_cast<std::int64_t>(all.size()));
    }
    return {{.format = "Z"},
            {.buffers = {nullptr, arrow::buffer_of(std::move(ends)),
                         arrow::buffer_of(std::move(all))}}};
}

arrow::Column Column::take_arrow(const std::string &name)
{
    arrow::Column column = {{.format = "n"}, {}};
    std::vector<std::string> texts;
    switch (kind_) {
    case Kind::integer:
        column = {{.format = "l"}, {.buffers = {nullptr, arrow::buffer_of(std::move(integers_))}}};
        break;
    case Kind::real:
        column = {{.format = "g"}, {.buffers = {nullptr, arrow::buffer_of(std::move(reals_))}}};
        break;
    case Kind::text:
        for (const std::string &text : texts_)
            texts.push_back(text_object(text));
        for (std::int32_t &code : codes_)
            code = std::max(code, 0); // of NULL
        column =
            arrow::by_number("", "i", arrow::buffer_of(std::move(codes_)), 0, arrow::texts(texts));
        break;
    case Kind::mixed:
        column = take_bytes();
        break;
    case Kind::null:
        break;
    }
    column.field.name = name;
    column.values.length = static_cast<std::int64_t>(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
        column.values.null_count += kind_ == Kind::null || is_missing(row);
    if (column.values.null_count && kind_ != Kind::null)
        column.values.buffers[0] =
            arrow::bits_of(rows_, [&](std::size_t row) { return !is_missing(row); });
    return column;
}

std::vector<Column> fetch(trace::Query &query, std::size_t most)
{
    std::vector<Column> columns(static_cast<std::size_t>(query.column_count()));
    for (std::size_t row = 0; row < most && query.step(); ++row)
        for (std::size_t column = 0; column < columns.size(); ++column)
            columns[column].add(query, static_cast<int>(column));
    return columns;
}

} // namespace fencepost::python
