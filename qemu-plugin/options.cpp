// SPDX-License-Identifier: GPL-2.0-or-later
// See options.h.
#include "qemu-plugin/options.h"

#include <string_view>

#include "base/error.h"

namespace fencepost::tracer {

namespace {

bool on_or_off(std::string_view name, std::string_view value)
{
    if (value != "on" && value != "off")
        fail(ErrorKind::usage, "the option {} is on or off, not '{}'", name, value);
    return value == "on";
}

} // namespace

Options parse_options(std::span<const char *const> arguments)
{
    Options options;
    for (const std::string_view argument : arguments) {
        const std::size_t equals = argument.find('=');
        const std::string_view name = argument.substr(0, equals);
        const std::string_view value =
            equals == std::string_view::npos ? "" : argument.substr(equals + 1);
        if (name == "trace")
            options.trace = value;
        else if (name == "stacks")
            options.stacks = on_or_off(name, value);
        else if (name == "loads")
            options.loads = on_or_off(name, value);
        else if (name == "recording")
            options.recording = on_or_off(name, value);
        else
            fail(ErrorKind::usage,
                 "there is no option '{}'; there are trace, stacks, loads and recording", name);
    }
    if (options.trace.empty())
        fail(ErrorKind::usage, "the option trace=FILE is missing");
    return options;
}

} // namespace fencepost::tracer
