// SPDX-License-Identifier: GPL-2.0-or-later
// Our declarations of the part of QEMU's plugin interface that we use (levels 4 to 6). Debian ships
// no header for it; what is declared here is checked against the level QEMU offers at load time.
#pragma once

#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;

struct qemu_info_t {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus;
        int max_vcpus;
    } system;
};

} // extern "C"
