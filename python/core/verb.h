// SPDX-License-Identifier: GPL-2.0-or-later
// What all verbs have in common: options in, a document out, and the work between without the GIL.
#pragma once

#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/json.h"
#include "python/core/core.h"
#include "python/core/options.h"

namespace fencepost::python {

inline std::string document_text(const nlohmann::json &document)
{
    return json_text(document);
}
inline std::string document_text(std::string text)
{
    return text;
}

// `prepare(run, options, told)` takes what it needs from the options, and gives the work: a
// function whose answer is a document, or its text.
template <auto prepare> void add_verb(py::module_ &module, const char *name)
{
    module.def(
        name,
        [](const std::string &run, py::dict options, py::object progress) {
            Callback told(std::move(progress));
            const Options given(std::move(options));
            const auto work = prepare(run, given, told);
            std::string document = long_call([&] { return document_text(work()); }, &told);
            told.rethrow(); // raised when there was nothing left to interrupt
            return document;
        },
        py::arg("run"), py::arg("options"), py::arg("progress"));
}

} // namespace fencepost::python
