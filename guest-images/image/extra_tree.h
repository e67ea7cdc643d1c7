// SPDX-License-Identifier: GPL-2.0-or-later
// A user's directory that is merged into the guest's root.
#pragma once

#include <filesystem>
#include <string>

#include "guest-images/image/guest_tree.h"

namespace fencepost::images {

// Files, directories and links, all owned by root in the guest; links are kept as they are. Throws
// a usage error for anything else, and for what would replace the agent or its settings.
void add_extra(GuestTree &tree, const std::filesystem::path &directory);

// Of what add_extra() would take from the directory.
std::string extra_digest(const std::filesystem::path &directory);

} // namespace fencepost::images
