// SPDX-License-Identifier: GPL-2.0-or-later
// Commands in a guest, as Python asks for them and gets them back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "base/error.h"
#include "guest-images/agent/protocol.h"
#include "python/core/core.h"

namespace fencepost::python {

// As the agent has it: at least a millisecond, at most 49 days.
inline std::uint32_t limit_ms(double seconds)
{
    if (!(seconds > 0) || !std::isfinite(seconds))
        fail(ErrorKind::usage, "{} seconds is an invalid duration", seconds);
    constexpr double most = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::min(std::ceil(seconds * 1000), most));
}

// What the agent cannot take is refused here: it would have to end the connection.
inline const std::string &no_zero(const std::string &text, const char *what)
{
    if (text.find('\0') != std::string::npos)
        fail(ErrorKind::usage, "there is a zero byte in {}", what);
    return text;
}

// No seconds: no limit of its own.
inline agent::RunRequest run_request(const std::vector<std::string> &command,
                                     const std::string &directory,
                                     const std::map<std::string, std::string> &environment,
                                     const std::string &input, std::optional<double> seconds)
{
    agent::RunRequest request;
    for (const std::string &word : command)
        request.argv.push_back(no_zero(word, "the command"));
    request.directory = no_zero(directory, "the directory");
    for (const auto &[name, value] : environment)
        request.environment.push_back(no_zero(name + "=" + value, "the environment"));
    request.input = input;
    if (seconds)
        request.time_limit_ms = limit_ms(*seconds);
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
