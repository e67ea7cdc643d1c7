// SPDX-License-Identifier: GPL-2.0-or-later
// See config_json.h.
#include "replayer/guest/config_json.h"

#include <nlohmann/json.hpp>

namespace fencepost::guest {

using nlohmann::json;

json config_to_json(const GuestConfig &config)
{
    json pm = json::array();
    for (const PmConfig &device : config.pm)
        pm.push_back({{"size", device.size}, {"attach", to_string(device.attach)}});
    return {{"image", config.image},
            {"ram", config.ram},
            {"cpus", config.cpus},
            {"accelerator", to_string(config.accelerator)},
            {"clock", to_string(config.clock)},
            {"recording", config.recording},
            {"kernel_arguments", config.kernel_arguments},
            {"pm", pm}};
}

GuestConfig config_from_json(const json &document)
{
    GuestConfig config;
    config.image = document.at("image");
    config.ram = document.at("ram");
    config.cpus = document.at("cpus");
    config.accelerator = document.at("accelerator") == "kvm" ? Accelerator::kvm : Accelerator::tcg;
    config.clock = document.at("clock") == "icount" ? Clock::icount : Clock::host;
    config.recording = document.at("recording");
    config.kernel_arguments = document.at("kernel_arguments");
    config.pm.clear();
    for (const json &device : document.at("pm"))
        config.pm.push_back(
            {device.at("size"), device.at("attach") == "e820" ? PmAttach::e820 : PmAttach::nvdimm});
    return config;
}

} // namespace fencepost::guest
