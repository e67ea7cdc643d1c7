// SPDX-License-Identifier: GPL-2.0-or-later
// A QMP session: commands, answers and events over one socket.
#pragma once

#include <list>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/deadline.h"
#include "base/fd.h"

namespace fencepost::guest {

class QmpSession {
public:
    // Reads the greeting and leaves negotiation mode. `machine_end_fd` becomes readable when the
    // machine has died, which ends every wait.
    QmpSession(Fd socket, int machine_end_fd, Deadline deadline);
    ~QmpSession();

    // Throws a guest error with QEMU's own words if the command fails.
    nlohmann::json execute(const std::string &command, const nlohmann::json &arguments,
                           Deadline deadline);

    // Takes in what has arrived without waiting; false once the session is over.
    bool drain();
    const std::list<nlohmann::json> &events() const { return events_; }

    int fd() const { return socket_.get(); }

private:
    // One more chunk of input; false at the end of the session.
    bool read_more(Deadline deadline, const char *waiting_for);
    bool next_line(std::string &line);
    void sort_out(nlohmann::json message);

    Fd socket_;
    int machine_end_fd_;
    std::string input_;
    std::list<nlohmann::json> events_;
    std::list<nlohmann::json> answers_;
};

} // namespace fencepost::guest
