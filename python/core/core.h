// SPDX-License-Identifier: GPL-2.0-or-later
// What the parts of the extension module `fencepost._core` have in common.
#pragma once

#include <exception>
#include <utility>

#include <pybind11/pybind11.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::python {

namespace py = pybind11;

// One a file; each adds its classes and functions.
void add_doing(py::module_ &module);
void add_errors(py::module_ &module);
void add_guest(py::module_ &module);
void add_query(py::module_ &module);
void add_run(py::module_ &module);
void add_trace(py::module_ &module);

// A user's function that a long call asks to be told how it goes. What it throws stops the call.
class Callback {
public:
    explicit Callback(py::object function)
        : function_(std::move(function)), wanted_(!function_.is_none())
    {
    }

    // Without the GIL, from any thread. `make` gives the arguments, with it.
    template <typename Make> void operator()(Make &&make)
    {
        if (!wanted_)
            return;
        const py::gil_scoped_acquire gil;
        if (failure_)
            return;
        try {
            function_(*make());
        } catch (const py::error_already_set &) {
            failure_ = std::current_exception();
            interrupt();
        }
    }
    // With the GIL.
    void rethrow() const
    {
        if (failure_)
            std::rethrow_exception(failure_);
    }

private:
    py::object function_;
    bool wanted_;
    std::exception_ptr failure_;
};

// Work that takes its time: other Python threads go on meanwhile, and Ctrl-C ends it.
template <typename Work> auto long_call(Work &&work, const Callback *callback = nullptr)
{
    const InterruptScope scope;
    try {
        const py::gil_scoped_release release;
        return work();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::interrupted)
            throw;
        if (callback)
            callback->rethrow();
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
        throw;
    }
}

} // namespace fencepost::python
