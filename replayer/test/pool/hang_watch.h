// SPDX-License-Identifier: GPL-2.0-or-later
// When an image is called a hang: soon, measured by what healthy images take, and late once for
// each kind of hang.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "replayer/oracle/judge.h"

namespace fencepost::test {

// Of all workers of a test, from all their threads. A guest that was just restored is slow: it
// translates its code anew. So the two kinds are measured apart.
class HangWatch {
public:
    enum class GuestKind { warm, restored };

    // How long the slowest healthy image took is multiplied by this; at least so long.
    static constexpr int kFactor = 3;
    static constexpr std::chrono::milliseconds kFloor{1000};

    // An image had all its answers, after this much time in the guest.
    void note_healthy(GuestKind kind, std::chrono::milliseconds time);
    // Nothing: no healthy image was seen in such a guest, so nobody knows.
    std::optional<std::chrono::milliseconds> patience(GuestKind kind) const;

    // A hang with these last words lasted for the whole limit, or was a lockup after all: what it
    // came to.
    void note_confirmed(const std::string &words, const oracle::Evidence &evidence);
    // Nothing: no such hang is known.
    std::optional<oracle::Evidence> known(const std::string &words) const;

private:
    mutable std::mutex mutex_;
    std::optional<std::chrono::milliseconds> slowest_[2]; // by kind
    std::map<std::string, oracle::Evidence> known_;       // by words
};

} // namespace fencepost::test
