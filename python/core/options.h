// SPDX-License-Identifier: GPL-2.0-or-later
// What Python functions pass on: keyword arguments, and what they want to be told.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <pybind11/stl.h>

#include "base/error.h"
#include "python/core/core.h"

namespace fencepost::python {

// Keyword arguments, with the names that the Python functions give them; None: not said.
class Options {
public:
    explicit Options(py::dict options) : options_(std::move(options)) {}

    template <typename T> void take(const char *name, T &into) const
    {
        if (const std::optional<T> given = optional<T>(name))
            into = *given;
    }
    template <typename T> std::optional<T> optional(const char *name) const
    {
        if (!options_.contains(name) || options_[name].is_none())
            return std::nullopt;
        try {
            return options_[name].cast<T>();
        } catch (const py::cast_error &) {
            throw py::type_error(std::string(name) + " cannot be " +
                                 py::repr(options_[name]).cast<std::string>());
        }
    }
    // Seconds; a time that is too short for anything is a mistake.
    std::optional<std::chrono::seconds> seconds(const char *name) const
    {
        const std::optional<double> given = optional<double>(name);
        if (!given)
            return std::nullopt;
        if (!(*given >= 1) || *given > 1e8)
            fail(ErrorKind::usage, "{} seconds is an invalid duration", *given);
        return std::chrono::seconds(static_cast<long>(*given));
    }
    std::string accelerator() const
    {
        return optional<std::string>("accelerator").value_or("auto");
    }
    std::string text(const char *name) const { return optional<std::string>(name).value_or(""); }

private:
    py::dict options_;
};

// A callback gets a line, and numbers by name where there are some.
inline std::function<void(const std::string &)> lines_to(Callback &told)
{
    return [&told](const std::string &line) {
        told([&] { return py::make_tuple(line, py::dict()); });
    };
}

} // namespace fencepost::python
