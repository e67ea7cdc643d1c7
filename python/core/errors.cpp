// SPDX-License-Identifier: GPL-2.0-or-later
// Errors of the library as exceptions of the package, with the same sentences.
#include "python/core/core.h"

namespace fencepost::python {

namespace {

const char *class_of(ErrorKind kind)
{
    switch (kind) {
    case ErrorKind::usage:
        return "UsageError";
    case ErrorKind::trace:
        return "TraceError";
    case ErrorKind::guest:
        return "GuestError";
    case ErrorKind::io:
        return "MachineError";
    case ErrorKind::internal:
    case ErrorKind::interrupted:
        break;
    }
    return "InternalError";
}

void translate(std::exception_ptr thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            return;
        }
        const py::object type =
            py::module_::import("fencepost.errors").attr(class_of(error.kind()));
        PyErr_SetString(type.ptr(), error.what());
    }
}

} // namespace

void add_errors(py::module_ &)
{
    py::register_exception_translator(translate);
}

} // namespace fencepost::python
