// SPDX-License-Identifier: GPL-2.0-or-later
// See relay.h. Each direction holds one frame at a time and reads on only when it is gone, so the
// memory of init is bounded and a slow reader slows its writer.
#include "guest-images/agent/relay.h"

#include <cerrno>

#include <unistd.h>

namespace fencepost::agent {

namespace {

// False when the descriptor has ended or is not connected.
bool read_some(int fd, FrameParser &parser)
{
    char buffer[65536];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0)
        parser.feed({buffer, static_cast<std::size_t>(got)});
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

} // namespace

void Outgoing::write_to(int fd)
{
    while (!empty()) {
        const ssize_t put = write(fd, bytes_.data() + done_, bytes_.size() - done_);
        if (put <= 0)
            return;
        done_ += static_cast<std::size_t>(put);
    }
    bytes_ = std::string();
    done_ = 0;
}

void Relay::connect_server(int socket)
{
    server_ = socket;
    take_requests();
}

void Relay::server_ended(const ServerLost &how)
{
    char buffer[65536];
    for (ssize_t got; server_ >= 0 && (got = read(server_, buffer, sizeof buffer)) > 0;)
        from_server_.feed({buffer, static_cast<std::size_t>(got)});
    take_replies();
    server_ = -1;
    from_server_.reset();
    to_server_ = Outgoing();
    // After a power_off it has done its work.
    if (!power_off_)
        send(encode_message(in_progress_, how));
    in_progress_ = 0;
}

std::array<pollfd, 2> Relay::wanted() const
{
    // A port whose host end is not connected is always "ready": it is looked at again after a
    // pause instead.
    std::array<pollfd, 2> fds = {{{host_away_ ? -1 : control_, 0, 0}, {server_, 0, 0}}};
    fds[0].events = static_cast<short>((to_server_.empty() ? POLLIN : 0) |
                                       (to_host_.empty() ? 0 : POLLOUT));
    fds[1].events = static_cast<short>((to_host_.empty() ? POLLIN : 0) |
                                       (to_server_.empty() ? 0 : POLLOUT));
    return fds;
}

void Relay::handle(const std::array<pollfd, 2> &found)
{
    host_away_ = !host_away_ && (found[0].revents & (POLLHUP | POLLERR)) &&
                 !(found[0].revents & (POLLIN | POLLOUT));
    if (found[0].revents & POLLIN)
        read_host();
    if (found[1].revents & (POLLIN | POLLHUP | POLLERR))
        read_server();
    flush();
    take_requests();
    take_replies();
    flush();
}

void Relay::read_host()
{
    if (!to_server_.empty())
        return;
    if (!read_some(control_, from_host_))
        host_away_ = true;
}

void Relay::take_requests()
{
    Frame frame;
    while (server_ >= 0 && to_server_.empty()) {
        switch (from_host_.next(frame)) {
        case FrameParser::Result::need_more:
            return;
        case FrameParser::Result::error:
            send(encode_message(0, ProtocolError{from_host_.error_text()}));
            from_host_.resynchronise();
            break;
        case FrameParser::Result::frame:
            in_progress_ = frame.request_id;
            to_server_.append(frame.bytes);
            break;
        }
    }
}

void Relay::read_server()
{
    if (!read_some(server_, from_server_))
        server_ = -1; // its end is reported when its status is known
}

void Relay::take_replies()
{
    Frame frame;
    for (;;) {
        switch (from_server_.next(frame)) {
        case FrameParser::Result::need_more:
            return;
        case FrameParser::Result::error:
            from_server_.resynchronise();
            break;
        case FrameParser::Result::frame:
            if (frame.request_id == in_progress_)
                in_progress_ = 0;
            power_off_ = power_off_ || frame.type == PowerOffReply::kType;
            send(frame.bytes);
            break;
        }
    }
}

void Relay::flush()
{
    to_host_.write_to(control_);
    if (server_ >= 0)
        to_server_.write_to(server_);
}

} // namespace fencepost::agent
