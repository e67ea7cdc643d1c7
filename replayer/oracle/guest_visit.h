// SPDX-License-Identifier: GPL-2.0-or-later
// What an oracle of the caller's can ask a guest that has recovered an image, one thing after the
// other.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "guest-images/agent/outcome.h"
#include "replayer/oracle/progress.h"

namespace fencepost::guest {
class JudgedGuest;
}

namespace fencepost::oracle {

struct Question;

// Good until the oracle has answered. What the guest refuses is a value. A guest that is lost, or a
// command that takes longer than the image has time, is thrown as an Error(guest), now and at each
// later request: whatever the oracle makes of that, it is the image's verdict.
class GuestVisit {
public:
    // `root`: where the file system is mounted; empty: there is none. All are borrowed.
    GuestVisit(guest::JudgedGuest &guest, const Question &question, const std::string &root);

    const std::string &root() const { return root_; }
    std::uint64_t crash_seq() const;
    bool crashed() const;
    // Set for oracles that ask for it.
    const Progress *progress = nullptr;

    // By the judge, before and after the oracles.
    agent::Outcome<agent::MountReply> mount(const agent::MountRequest &request);
    agent::Outcome<agent::UnmountReply> unmount();

    // A time limit of 0: all that the image has.
    agent::Outcome<agent::RunReply> run(agent::RunRequest request);
    agent::Outcome<std::string> read(const std::string &path);
    agent::Outcome<agent::WriteFileReply> write(const std::string &path, std::string_view data);
    // Names, sizes and hashes, without contents.
    agent::TreeDump tree();

    // In requests to the guest.
    double seconds() const { return seconds_; }
    bool hung() const { return hung_; }
    // A command has left processes that cannot be killed.
    bool spent() const { return spent_; }
    // Nothing can be asked any more.
    bool gone() const { return hung_ || loss_; }
    void rethrow_loss() const;

private:
    template <typename Ask> auto ask(Ask &&ask);
    Deadline deadline(std::chrono::milliseconds more = {}) const;

    guest::JudgedGuest &guest_;
    const Question &question_;
    const std::string &root_;
    double seconds_ = 0;
    bool hung_ = false;
    bool spent_ = false;
    std::exception_ptr loss_;
};

} // namespace fencepost::oracle
