// SPDX-License-Identifier: GPL-2.0-or-later
// What a Linux boot image says about itself (Documentation/arch/x86/boot.rst in the kernel tree).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fencepost::images {

struct KernelHeader {
    std::string release; // as in `uname -r`; empty when the image does not say
};

// `name` is for messages. Throws a usage error that says what the bytes are instead.
KernelHeader parse_bzimage(std::string_view bytes, const std::string &name);

// Reads and checks a kernel file given by a user.
KernelHeader read_bzimage(const std::filesystem::path &path);

} // namespace fencepost::images
