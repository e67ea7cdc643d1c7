// SPDX-License-Identifier: GPL-2.0-or-later
// init's part of the control channel: passes whole frames between the host and the server process.
#pragma once

#include <array>
#include <string>

#include <poll.h>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// Bytes on their way to a descriptor that may not take them all at once.
class Outgoing {
public:
    bool empty() const { return done_ == bytes_.size(); }
    void append(std::string_view bytes) { bytes_ += bytes; }
    // As much as the descriptor takes now.
    void write_to(int fd);

private:
    std::string bytes_;
    std::size_t done_ = 0;
};

// Because only whole frames pass, a server that dies at any moment leaves the channel in order:
// neither half a reply towards the host nor half a request towards its successor.
class Relay {
public:
    // Both descriptors are borrowed and non-blocking; the process ignores SIGPIPE.
    explicit Relay(int control) : control_(control) {}
    void connect_server(int socket);

    void send(std::string_view frame) { to_host_.append(frame); }
    // Passes on what the dead server had still answered, then tells the host of its end.
    void server_ended(const ServerLost &how);

    // One round of an event loop: poll what is asked for, then hand the result back.
    std::array<pollfd, 2> wanted() const;
    int poll_timeout() const { return host_away_ ? kAwayMilliseconds : -1; }
    void handle(const std::array<pollfd, 2> &found);

    // A power_off was answered and the answer is on its way.
    bool power_off_due() const { return power_off_ && to_host_.empty(); }

private:
    static constexpr int kAwayMilliseconds = 50;

    void read_host();
    void take_requests();
    void read_server();
    void take_replies();
    void flush();

    int control_;
    int server_ = -1;
    FrameParser from_host_;
    FrameParser from_server_;
    Outgoing to_host_;
    Outgoing to_server_;
    std::uint32_t in_progress_ = 0; // request id
    bool host_away_ = false;
    bool power_off_ = false;
};

} // namespace fencepost::agent
