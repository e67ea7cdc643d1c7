// SPDX-License-Identifier: GPL-2.0-or-later
// How far a test has come, in words.
#pragma once

#include <string>

#include "replayer/test/test_run.h"

namespace fencepost::test {

// "testing: 120 images, 14.2 a second, 1 finding, about 3 min left"
std::string progress_text(const TestProgress &now);

} // namespace fencepost::test
