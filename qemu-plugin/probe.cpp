// SPDX-License-Identifier: GPL-2.0-or-later
// A plugin that does nothing but say, on stderr, which interface levels its QEMU offers. `fencepost
// doctor` loads it to see whether plugins really work.
#include <cstdio>

#include "qemu-plugin/qemu_plugin_api.h"

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 4;

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t, const qemu_info_t *info, int, char **)
{
    std::fprintf(stderr, "fencepost-probe: plugin levels %d to %d\n", info->version.min,
                 info->version.cur);
    return 0;
}

} // extern "C"
