// SPDX-License-Identifier: GPL-2.0-or-later
// The answer of a query, column by column, as Python takes it without looking at each value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <pybind11/pybind11.h>

#include "python/core/arrow.h"
#include "trace/query.h"

namespace fencepost::python {

// Values of one type, as far as they are; text as numbers of distinct texts.
class Column {
public:
    // Of the query's current row.
    void add(const trace::Query &query, int column);

    // ("integer", array, missing), ("real", array, missing), ("text", codes, texts), ("mixed",
    // list) or
    // ("null", count); `missing` is None or an array of bool. The code of NULL is -1. With the GIL,
    // once.
    pybind11::tuple take();
    // The same for Arrow: int64, double, texts by number, bytes. With the GIL, once.
    arrow::Column take_arrow(const std::string &name);
    std::size_t rows() const { return rows_; }

private:
    using Value =
        std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;
    enum class Kind { null, integer, real, text, mixed };

    void become(Kind kind);
    void add_text(std::string_view text);
    Value value_at(std::size_t row) const;
    pybind11::object missing();
    bool is_missing(std::size_t row) const;
    arrow::Column take_bytes() const;

    Kind kind_ = Kind::null;
    std::size_t rows_ = 0;
    std::vector<std::int64_t> integers_;
    std::vector<double> reals_;
    std::vector<std::int32_t> codes_;
    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::int32_t> code_of_;
    std::vector<Value> mixed_;
    std::vector<std::uint8_t> null_; // filled up to the last NULL
};

// Up to `most` rows of a query; without the GIL.
std::vector<Column> fetch(trace::Query &query, std::size_t most);

} // namespace fencepost::python
