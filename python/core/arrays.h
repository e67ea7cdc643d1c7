// SPDX-License-Identifier: GPL-2.0-or-later
// Memory of ours as NumPy arrays, without copying.
#pragma once

#include <memory>
#include <vector>

#include <pybind11/numpy.h>

namespace fencepost::python {

namespace py = pybind11;

// The array owns the vector from here on.
template <typename T> py::array array_of(std::vector<T> values, const py::dtype &type)
{
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    const py::capsule owner(held.get(),
                            [](void *pointer) { delete static_cast<std::vector<T> *>(pointer); });
    const std::vector<T> &kept = *held.release();
    return py::array(type, {kept.size()}, {sizeof(T)}, kept.data(), owner);
}

template <typename T> py::array array_of(std::vector<T> values)
{
    return array_of(std::move(values), py::dtype::of<T>());
}

} // namespace fencepost::python
