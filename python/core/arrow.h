// SPDX-License-Identifier: GPL-2.0-or-later
// Columns as other libraries take them without copying: Arrow's C data and C stream interfaces, and
// the capsules that carry them in Python.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "trace/event.h"

// The layout and the names are those of the specification; nothing of Arrow's is needed for it.
// https://arrow.apache.org/docs/format/CDataInterface.html
extern "C" {

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    std::int64_t flags;
    std::int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

} // extern "C"

namespace fencepost::python::arrow {

// Memory that any number of arrays may share.
using Buffer = std::shared_ptr<const void>;

template <typename T> Buffer buffer_of(std::vector<T> values)
{
    values.reserve(1); // so that there is an address in any case
    const auto held = std::make_shared<const std::vector<T>>(std::move(values));
    return Buffer(held, held->data());
}

// Bit i says whether value i is there.
Buffer bits_of(std::size_t count, const std::function<bool(std::size_t)> &is_set);

// The type of a column; `format` as in the C data interface: "l" is 64-bit integers.
struct Field {
    std::string name = {};
    std::string format = {};
    std::vector<Field> children = {};
    std::shared_ptr<const Field> dictionary = {};
};

struct Values {
    std::int64_t length = 0;
    std::int64_t null_count = 0;
    std::vector<Buffer> buffers = {}; // the first: which values are there; none: all
    std::vector<Values> children = {};
    std::shared_ptr<const Values> dictionary = {};
};

struct Column {
    Field field;
    Values values;
};

// Texts one after the other. They have to be UTF-8.
Column texts(const std::vector<std::string> &texts);
// Texts by number; `format` is that of the numbers.
Column by_number(std::string name, std::string format, Buffer numbers, std::int64_t count,
                 Column texts);
// Of columns of one length.
Column table(std::vector<Column> columns, std::int64_t rows);

// The events at `selected`, or all; without values there is no column for them.
Field event_fields(bool with_values);
Values event_values(std::uint64_t first_seq, std::span<const trace::Event> events,
                    const std::optional<std::span<const std::uint32_t>> &selected,
                    std::span<const std::byte> wide_values, bool with_values);

// What `__arrow_c_array__` and `__arrow_c_stream__` give. `next` is called without the GIL; what it
// throws becomes the stream's error.
using NextValues = std::function<std::optional<Values>()>;
pybind11::tuple array_capsules(const Field &field, Values values);
pybind11::capsule schema_capsule(const Field &field);
pybind11::capsule stream_capsule(Field field, NextValues next);

} // namespace fencepost::python::arrow
