// SPDX-License-Identifier: GPL-2.0-or-later
// SQL over a trace.
#include <mutex>
#include <optional>
#include <utility>

#include <pybind11/stl.h>

#include "python/core/arrow.h"
#include "python/core/columns.h"
#include "python/core/core.h"
#include "python/core/open_trace.h"

namespace fencepost::python {

namespace {

// Rows piece by piece, on a connection of its own: others may ask the trace meanwhile.
class PyQuery {
public:
    PyQuery(const OpenTrace &trace, const std::string &sql)
        : trace_(trace.shared()), reader_(std::make_unique<trace::TraceReader>(trace.path()))
    {
        tables::add_model_tables(*reader_);
        query_ = std::make_unique<trace::Query>(*reader_, sql);
    }

    std::vector<std::string> names() const { return query_->unique_names(); }

    py::list fetch_rows(std::size_t most)
    {
        std::vector<Column> columns = long_call([&] {
            const std::lock_guard lock(mutex_);
            trace_->check_open();
            return done_ ? std::vector<Column>(names().size()) : fetch(*query_, most);
        });
        py::list taken;
        std::size_t rows = 0;
        for (Column &column : columns) {
            rows = column.rows();
            taken.append(column.take());
        }
        done_ = rows < most;
        return taken;
    }

private:
    std::shared_ptr<const OpenTrace::State> trace_;
    std::unique_ptr<trace::TraceReader> reader_;
    std::unique_ptr<trace::Query> query_;
    std::mutex mutex_;
    bool done_ = false;
};

struct Answer {
    std::vector<std::string> names;
    std::vector<Column> columns;
};

// The whole answer, on the trace's own connection, which remembers what it has learned.
Answer whole_answer(const OpenTrace &trace, const std::string &sql)
{
    return long_call([&] {
        return trace.with_reader([&](const trace::TraceReader &reader) {
            trace::Query query(reader, sql);
            std::vector<std::string> names = query.unique_names();
            return Answer{std::move(names), fetch(query, SIZE_MAX)};
        });
    });
}

py::tuple answer(const OpenTrace &trace, const std::string &sql)
{
    Answer whole = whole_answer(trace, sql);
    py::list taken;
    for (Column &column : whole.columns)
        taken.append(column.take());
    return py::make_tuple(whole.names, taken);
}

// An answer that any number of consumers may share.
class ArrowTable {
public:
    ArrowTable(const OpenTrace &trace, const std::string &sql)
    {
        Answer whole = whole_answer(trace, sql);
        const std::size_t rows = whole.columns.empty() ? 0 : whole.columns.front().rows();
        std::vector<arrow::Column> columns;
        for (std::size_t i = 0; i < whole.columns.size(); ++i)
            columns.push_back(taken(whole.columns[i], whole.names[i]));
        table_ = arrow::table(std::move(columns), static_cast<std::int64_t>(rows));
    }

    std::size_t rows() const { return static_cast<std::size_t>(table_.values.length); }
    std::vector<std::string> names() const
    {
        std::vector<std::string> names;
        for (const arrow::Field &field : table_.field.children)
            names.push_back(field.name);
        return names;
    }
    py::capsule schema() const { return arrow::schema_capsule(table_.field); }
    py::tuple array(const py::object &) const
    {
        return arrow::array_capsules(table_.field, table_.values);
    }
    py::capsule stream(const py::object &) const
    {
        return arrow::stream_capsule(table_.field,
                                     [values = std::optional(table_.values)]() mutable {
                                         return std::exchange(values, {});
                                     });
    }

private:
    static arrow::Column taken(Column &column, const std::string &name)
    try {
        return column.take_arrow(name);
    } catch (const Error &error) {
        fail(error.kind(), "column {}: {}", name, error.what());
    }

    arrow::Column table_;
};

} // namespace

void add_query(py::module_ &module)
{
    py::class_<PyQuery>(module, "Query")
        .def(py::init([](const OpenTrace &trace, const std::string &sql) {
            return long_call([&] { return std::make_unique<PyQuery>(trace, sql); });
        }))
        .def_property_readonly("names", &PyQuery::names)
        .def("fetch", &PyQuery::fetch_rows, py::arg("most"));
    py::class_<ArrowTable>(
        module, "ArrowTable",
        "The answer of a query, for whatever takes Arrow's PyCapsule interface:\n"
        "pyarrow.table(answer), polars.DataFrame(answer), a DuckDB relation.")
        .def(py::init<const OpenTrace &, const std::string &>(), py::arg("trace"), py::arg("sql"))
        .def_property_readonly("names", &ArrowTable::names, "The names of its columns.")
        .def("__len__", &ArrowTable::rows)
        .def("__arrow_c_schema__", &ArrowTable::schema)
        .def("__arrow_c_array__", &ArrowTable::array, py::arg("requested_schema") = py::none())
        .def("__arrow_c_stream__", &ArrowTable::stream, py::arg("requested_schema") = py::none());
    module.def("answer", answer, py::arg("trace"), py::arg("sql"));
}

} // namespace fencepost::python
