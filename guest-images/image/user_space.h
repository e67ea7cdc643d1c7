// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's programs and libraries, from Debian packages.
#pragma once

#include <vector>

#include "guest-images/image/guest_tree.h"
#include "guest-images/image/package_store.h"

namespace fencepost::images {

// The packages that hold all of the recipe's user space. Asks apt when `refresh` is set or when no
// complete selection is in the store.
std::vector<Package> user_space_packages(const PackageStore &store, bool refresh);

// Puts the files that are needed into the guest, and nothing else of the packages.
void add_user_space(GuestTree &tree, const std::vector<Package> &packages);

} // namespace fencepost::images
