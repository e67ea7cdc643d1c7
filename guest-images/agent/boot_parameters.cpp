// SPDX-License-Identifier: GPL-2.0-or-later
// See boot_parameters.h.
#include "guest-images/agent/boot_parameters.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace fencepost::agent {

BootParameters parse_boot_parameters(std::string_view command_line)
{
    constexpr std::string_view kPmDevices = "fencepost.pm_devices=";
    BootParameters parameters;
    while (!command_line.empty()) {
        const std::size_t end = std::min(command_line.find_first_of(" \n"), command_line.size());
        const std::string_view word = command_line.substr(0, end);
        command_line.remove_prefix(std::min(end + 1, command_line.size()));
        if (word == "fencepost.channel=serial")
            parameters.serial_channel = true;
        else if (word == "fencepost.recording")
            parameters.recording = true;
        else if (word == "fencepost.standalone")
            parameters.standalone = true;
        else if (word.starts_with(kPmDevices))
            parameters.pm_devices = static_cast<unsigned>(
                std::strtoul(std::string(word.substr(kPmDevices.size())).c_str(), nullptr, 10));
    }
    return parameters;
}

} // namespace fencepost::agent
