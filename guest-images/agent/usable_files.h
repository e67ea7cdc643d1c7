// SPDX-License-Identifier: GPL-2.0-or-later
// Works with what a mounted file system already holds: files are read, overwritten, appended to,
// cut and extended, given an attribute; every name is renamed and put back. Afterwards the files
// have other contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// What a trial may cost. Of more names than that, as many are tried, spread evenly over the tree.
struct TrialLimits {
    std::size_t names = 128;
    std::uint64_t bytes = 16ull << 20; // read and written
    std::uint64_t usec = 5'000'000;
};

struct TrialResult {
    std::vector<UsableProblem> problems; // the first ones
    // What was not tried and why; without numbers of the image, so that images can be counted by
    // it.
    std::vector<std::string> not_tried;

    void skip(const std::string &what); // once each
};

inline constexpr std::size_t kProblemLimit = 32;

// A file system that the workload filled is not broken.
bool has_no_room(const std::string &root);

void try_files(const std::string &root, const TreeDump &tree, const TrialLimits &limits,
               TrialResult &result);

} // namespace fencepost::agent
