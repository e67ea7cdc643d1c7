// SPDX-License-Identifier: GPL-2.0-or-later
// An oracle of the caller's: a function that talks with a guest that has recovered an image. Of a
// Python program, for example.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/oracle/details.h"
#include "replayer/oracle/guest_visit.h"

namespace fencepost::oracle {

class Oracle;
struct JudgeSettings;

// What it has against an image.
struct OwnObjection {
    std::string text; // its first line is what findings are told apart by, but for numbers in it
    Details details = {};
};

struct OwnOracle {
    std::string name;      // with a colon, which no other oracle's has: "python:accounts"
    std::string version;   // another one: earlier verdicts do not count
    bool progress = false; // what it expects depends on how far the workload was
    // Called by several threads at once. Nothing: the image is consistent. What it throws ends the
    // test, unless the visit was lost or hung.
    std::function<std::optional<OwnObjection>(GuestVisit &)> judge;
};
using OwnOracles = std::vector<OwnOracle>;

bool is_own(std::string_view name);
// nullptr: there is none of that name.
const OwnOracle *find_own(const OwnOracles &own, std::string_view name);
// `own` is borrowed.
std::unique_ptr<Oracle> make_own_oracle(const OwnOracle &own, const JudgeSettings &settings);

} // namespace fencepost::oracle
