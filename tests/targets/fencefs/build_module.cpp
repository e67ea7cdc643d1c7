// SPDX-License-Identifier: GPL-2.0-or-later
// Builds a kernel module for a release of Debian's kernel, as tests do, and prints where it is.
#include <cstdio>

#include "base/error.h"
#include "tests/guest/kernel_module.h"

int main(int argc, char **argv)
{
    if (argc < 4) {
        std::fprintf(stderr, "usage: build_module KERNEL_RELEASE DIRECTORY SOURCE...\n");
        return 2;
    }
    try {
        const auto module =
            fencepost::guest::build_kernel_module(argv[1], {argv + 3, argv + argc}, argv[2]);
        std::printf("%s\n", module.c_str());
    } catch (const fencepost::Error &error) {
        std::fprintf(stderr, "build_module: %s\n", error.what());
        return 1;
    }
    return 0;
}
