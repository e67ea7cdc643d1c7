// SPDX-License-Identifier: GPL-2.0-or-later
// The file behind a PM device: created with the layout its kernel driver wants, and formatted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "replayer/guest/guest_config.h"

namespace fencepost::guest {

// Makes a sparse file of the device's size; an NVDIMM gets the info block that puts it in fsdax
// mode. An existing file is replaced.
void create_pm_file(const std::filesystem::path &path, const PmConfig &device);

// Formats the data part on the host, without mounting anything. `type` is ext4 or xfs;
// `options` go to mkfs as they are.
void make_file_system(const std::filesystem::path &path, const PmConfig &device,
                      const std::string &type, const std::vector<std::string> &options = {});

} // namespace fencepost::guest
