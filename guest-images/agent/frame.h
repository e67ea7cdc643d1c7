// SPDX-License-Identifier: GPL-2.0-or-later
// Frames on the control channel: a fixed header, a payload, and a parser that takes bytes as they
// arrive. The bytes are described in docs/reference/agent-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fencepost::agent {

inline constexpr std::uint32_t kFrameMagic = 0x47415046; // "FPAG" in memory order
inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kHeaderSize = 20;
inline constexpr std::uint32_t kPayloadLimit = 16 << 20;

enum class MessageType : std::uint16_t {
    ping = 1,
    run = 2,
    mount = 3,
    unmount = 4,
    read_file = 5,
    write_file = 6,
    list_pm = 7,
    power_off = 8,
    judge = 9,

    // Sent by the agent without a request.
    hello = 0x4001,
    server_lost = 0x4002,
    protocol_error = 0x4003,
    // With the number of the request that is being worked on.
    step_begun = 0x4004,

    // A request is answered by its own type with this bit set, or by `failure`.
    reply_bit = 0x8000,
    failure = 0xffff,
};

constexpr MessageType reply_to(MessageType request)
{
    return static_cast<MessageType>(static_cast<std::uint16_t>(request) |
                                    static_cast<std::uint16_t>(MessageType::reply_bit));
}

// The payload must not be longer than kPayloadLimit.
std::string encode_frame(MessageType type, std::uint32_t request_id, std::string_view payload);

struct Frame {
    MessageType type = MessageType::failure; // not checked: a peer may send any number
    std::uint32_t request_id = 0;
    std::string_view payload;
};

enum class FrameError { none, magic, version, length, checksum };

// Holds only bytes that have arrived: a header's length claim allocates nothing.
class FrameParser {
public:
    enum class Result { frame, need_more, error };

    void feed(std::string_view bytes);
    // The frame's views are good until the next call of any member. After `error`, every call says
    // `error` again until resynchronise().
    Result next(Frame &frame);
    FrameError error() const { return error_; }
    const std::string &error_text() const { return error_text_; }

    // Drops what was refused, and everything after it until the next magic number arrives.
    void resynchronise();
    void reset();

private:
    Result refuse(FrameError error, std::string text);
    bool find_magic();

    std::string buffer_;
    std::size_t start_ = 0; // of the first byte not yet consumed
    bool searching_ = false;
    FrameError error_ = FrameError::none;
    std::string error_text_;
};

} // namespace fencepost::agent
