// SPDX-License-Identifier: GPL-2.0-or-later
// See hang_watch.h.
#include "replayer/test/pool/hang_watch.h"

#include <algorithm>

namespace fencepost::test {

void HangWatch::note_healthy(GuestKind kind, std::chrono::milliseconds time)
{
    const std::lock_guard guard(mutex_);
    auto &slowest = slowest_[static_cast<int>(kind)];
    slowest = slowest ? std::max(*slowest, time) : time;
}

std::optional<std::chrono::milliseconds> HangWatch::patience(GuestKind kind) const
{
    const std::lock_guard guard(mutex_);
    // A warm guest is no slower.
    const auto &own = slowest_[static_cast<int>(kind)];
    const auto &slowest = own ? own : slowest_[static_cast<int>(GuestKind::restored)];
    if (!slowest)
        return std::nullopt;
    return std::max<std::chrono::milliseconds>(kFloor, kFactor * *slowest);
}

void HangWatch::note_confirmed(const std::string &words, const oracle::Evidence &evidence)
{
    const std::lock_guard guard(mutex_);
    known_.emplace(words, evidence);
}

std::optional<oracle::Evidence> HangWatch::known(const std::string &words) const
{
    const std::lock_guard guard(mutex_);
    const auto found = known_.find(words);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace fencepost::test
