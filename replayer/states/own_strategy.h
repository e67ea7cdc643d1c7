// SPDX-License-Identifier: GPL-2.0-or-later
// A strategy of the caller's, beside those of the table. Of a Python program, for example.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "replayer/states/crash_points.h"
#include "replayer/states/crash_state.h"
#include "replayer/states/items.h"

namespace fencepost::states {

class OwnStrategy {
public:
    explicit OwnStrategy(std::string name) : name_(std::move(name)) {}
    virtual ~OwnStrategy() = default;

    OwnStrategy(const OwnStrategy &) = delete;
    OwnStrategy &operator=(const OwnStrategy &) = delete;

    const std::string &name() const { return name_; }

    // One state. A choice that the crash point does not have is an Error(usage). False: whoever
    // gets the states has enough.
    using Emit = std::function<bool(const Choice &)>;

    // At each crash point that ends an epoch, or where the promise changes, once, in the order of
    // the walk. What it throws ends the walk.
    virtual void choose(const CrashPoint &point, const ItemTable &items, const Emit &emit) = 0;

private:
    const std::string name_;
};

} // namespace fencepost::states
