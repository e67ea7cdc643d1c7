// SPDX-License-Identifier: GPL-2.0-or-later
// Where the PM files of workers are: in memory if there is room for them.
#pragma once

#include <filesystem>

#include "base/scratch.h"
#include "replayer/guest/guest_config.h"

namespace fencepost::test {

class PmPlace {
public:
    PmPlace(const std::filesystem::path &cache, const guest::GuestConfig &config, unsigned jobs);

    const std::filesystem::path &path() const { return scratch_.path(); }

private:
    ScratchDirectory scratch_;
};

} // namespace fencepost::test
