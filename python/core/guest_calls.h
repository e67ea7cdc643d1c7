// SPDX-License-Identifier: GPL-2.0-or-later
// Commands in a guest, as Python asks for them and gets them back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "guest-images/agent/protocol.h"
#include "python/core/core.h"

namespace fencepost::python {

// No seconds: no limit of its own.
inline agent::RunRequest run_request(const std::vector<std::string> &command,
                                     const std::string &directory,
                                     const std::map<std::string, std::string> &environment,
                                     const std::string &input, double seconds)
{
    agent::RunRequest request;
    request.argv = command;
    request.directory = directory;
    for (const auto &[name, value] : environment)
        request.environment.push_back(name + "=" + value);
    request.input = input;
    request.time_limit_ms = static_cast<std::uint32_t>(seconds * 1000);
    return request;
}

// With the GIL.
inline py::dict run_result(const agent::RunReply &reply)
{
    py::dict result;
    result["status"] = reply.end == agent::RunEnd::exited      ? py::object(py::int_(reply.code))
                       : reply.end == agent::RunEnd::signalled ? py::object(py::int_(-reply.code))
                                                               : py::object(py::none());
    result["output"] = py::bytes(reply.output);
    result["errors"] = py::bytes(reply.errors);
    result["truncated"] = reply.output_truncated || reply.errors_truncated;
    result["seconds"] = static_cast<double>(reply.elapsed_usec) / 1e6;
    return result;
}

} // namespace fencepost::python
