// SPDX-License-Identifier: GPL-2.0-or-later
// SQL over a trace.
#include <mutex>

#include <pybind11/stl.h>

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

// The whole answer, on the trace's own connection, which remembers what it has learned.
py::tuple answer(const OpenTrace &trace, const std::string &sql)
{
    std::vector<std::string> names;
    std::vector<Column> columns = long_call([&] {
        return trace.with_reader([&](const trace::TraceReader &reader) {
            trace::Query query(reader, sql);
            names = query.unique_names();
            return fetch(query, SIZE_MAX);
        });
    });
    py::list taken;
    for (Column &column : columns)
        taken.append(column.take());
    return py::make_tuple(names, taken);
}

} // namespace

void add_query(py::module_ &module)
{
    py::class_<PyQuery>(module, "Query")
        .def(py::init([](const OpenTrace &trace, const std::string &sql) {
            return long_call([&] { return std::make_unique<PyQuery>(trace, sql); });
        }))
        .def_property_readonly("names", &PyQuery::names)
        .def("fetch", &PyQuery::fetch_rows, py::arg("most"));
    module.def("answer", answer, py::arg("trace"), py::arg("sql"));
}

} // namespace fencepost::python
