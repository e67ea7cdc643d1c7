// SPDX-License-Identifier: GPL-2.0-or-later
// A scripted agent at the other end of the client's channel.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "replayer/guest/agent_client.h"

namespace fencepost::guest {

using namespace std::chrono_literals;
using agent::encode_message;

// For answers that do come; far beyond what a loaded machine needs.
inline Deadline ample()
{
    return Deadline::after(60s);
}

// The guest's end of a channel, with a thread that plays its part.
class Peer {
public:
    Peer()
    {
        auto [host, guest] = socket_pair();
        host_ = std::move(host);
        guest_ = std::move(guest);
    }
    ~Peer() { join(); }

    Fd host_end() { return std::move(host_); }
    void play(std::function<void(Peer &)> part)
    {
        thread_ = std::thread([this, part = std::move(part)] { part(*this); });
    }
    void join()
    {
        if (thread_.joinable())
            thread_.join();
    }

    void send(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const ssize_t put = ::send(guest_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put <= 0)
                return;
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
    }
    // The next request; its payload stays good until the next call.
    agent::Frame receive()
    {
        agent::Frame frame;
        while (parser_.next(frame) != agent::FrameParser::Result::frame)
            if (!receive_some())
                return {};
        return frame;
    }
    bool receive_some()
    {
        char buffer[65536];
        const ssize_t got = recv(guest_.get(), buffer, sizeof buffer, 0);
        if (got > 0)
            parser_.feed({buffer, static_cast<std::size_t>(got)});
        return got > 0;
    }
    void close() { guest_.reset(); }

private:
    Fd host_;
    Fd guest_;
    agent::FrameParser parser_;
    std::thread thread_;
};

template <typename Call> ChannelLoss loss_of(Call call, std::string *message = nullptr)
{
    try {
        call();
    } catch (const AgentLost &lost) {
        EXPECT_EQ(lost.kind(), ErrorKind::guest);
        if (message)
            *message = lost.what();
        return lost.loss();
    }
    ADD_FAILURE() << "no loss";
    return {};
}

inline void echo_ping(Peer &peer)
{
    const agent::Frame frame = peer.receive();
    agent::PingRequest request;
    ASSERT_TRUE(agent::decode_payload(frame.payload, request));
    peer.send(encode_message(frame.request_id, agent::PingReply{request.data}));
}

} // namespace fencepost::guest
