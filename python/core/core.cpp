// SPDX-License-Identifier: GPL-2.0-or-later
// The extension module `fencepost._core`: the library as the Python package uses it.
#include "python/core/core.h"

PYBIND11_MODULE(_core, module)
{
    module.doc() = "The C++ side of fencepost; use the package, not this.";
    module.attr("version") = FENCEPOST_VERSION;
    fencepost::python::add_errors(module);
    fencepost::python::add_trace(module);
    fencepost::python::add_query(module);
    fencepost::python::add_run(module);
    fencepost::python::add_doing(module);
    fencepost::python::add_guest(module);
}
