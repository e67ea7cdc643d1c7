// SPDX-License-Identifier: GPL-2.0-or-later
// See pm_devices.h.
#include "guest-images/agent/pm_devices.h"

#include <cstdlib>

#include "guest-images/agent/directory.h"
#include "guest-images/agent/file_requests.h"

namespace fencepost::agent {

std::vector<PmDevice> list_pm_devices(const std::string &block_directory)
{
    constexpr std::uint64_t kSector = 512;
    std::vector<PmDevice> devices;
    for (const std::string &name : directory_names(block_directory)) {
        // Not a partition or a BTT device (pmem0s): those are no DAX devices of their own.
        const std::string_view number =
            std::string_view(name).substr(name.starts_with("pmem") ? 4 : 0);
        if (!name.starts_with("pmem") || number.find_first_not_of("0123456789.") != number.npos)
            continue;
        const std::string device = block_directory + "/" + name;
        devices.push_back({
            .name = name,
            .size_bytes = std::strtoull(read_line(device + "/size").c_str(), nullptr, 10) * kSector,
            .dax = read_line(device + "/queue/dax") == "1",
            .physical_start =
                std::strtoull(read_line(device + "/device/resource").c_str(), nullptr, 0),
            .mode = read_line(device + "/device/mode"),
        });
    }
    return devices;
}

} // namespace fencepost::agent
