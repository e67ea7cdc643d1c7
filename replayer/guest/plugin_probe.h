// SPDX-License-Identifier: GPL-2.0-or-later
// Whether QEMU really loads a TCG plugin, and which interface levels it offers.
#pragma once

#include <string>

#include "replayer/guest/qemu_command.h"

namespace fencepost::guest {

struct PluginProbe {
    bool loads = false;
    int min_level = 0;
    int level = 0;
    std::string detail; // QEMU's words when it does not load
};

PluginProbe probe_plugin(const QemuProgram &qemu);

} // namespace fencepost::guest
