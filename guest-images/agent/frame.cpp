// SPDX-License-Identifier: GPL-2.0-or-later
// See frame.h. Runs on the host and, without exceptions, in the guest.
#include "guest-images/agent/frame.h"

#include <algorithm>
#include <cstring>

namespace fencepost::agent {

namespace {

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kTypeAt = 6;
constexpr std::size_t kRequestAt = 8;
constexpr std::size_t kLengthAt = 12;
constexpr std::size_t kChecksumAt = 16;
// Room kept between frames; more than that is given back after a large one.
constexpr std::size_t kKeptCapacity = 256 << 10;

// Both ends are little-endian x86-64, so the memory order is the wire order.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

template <typename Number> Number load(std::string_view bytes, std::size_t at)
{
    Number value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <typename Number> void store(std::string &bytes, std::size_t at, Number value)
{
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

void mix(std::uint64_t &state, std::string_view bytes)
{
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const std::size_t taken = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), taken);
        state = (state ^ word) * 0x9e3779b97f4a7c15;
        state ^= state >> 32;
        bytes.remove_prefix(taken);
    }
}

// Eight bytes a step, because a byte-wise CRC of a large payload costs milliseconds in an emulated
// guest. It guards against stray text on a serial line, not against an adversary.
std::uint32_t checksum(std::string_view frame)
{
    std::uint64_t state = 0;
    mix(state, frame.substr(0, kChecksumAt));
    mix(state, frame.substr(kHeaderSize));
    return static_cast<std::uint32_t>(state);
}

std::string_view magic_bytes()
{
    return {reinterpret_cast<const char *>(&kFrameMagic), sizeof kFrameMagic};
}

} // namespace

std::string encode_frame(MessageType type, std::uint32_t request_id, std::string_view payload)
{
    std::string frame(kHeaderSize, '\0');
    frame.reserve(kHeaderSize + payload.size());
    store(frame, 0, kFrameMagic);
    store(frame, kVersionAt, kProtocolVersion);
    store(frame, kTypeAt, static_cast<std::uint16_t>(type));
    store(frame, kRequestAt, request_id);
    store(frame, kLengthAt, static_cast<std::uint32_t>(payload.size()));
    frame += payload;
    store(frame, kChecksumAt, checksum(frame));
    return frame;
}

void FrameParser::feed(std::string_view bytes)
{
    buffer_.erase(0, start_);
    start_ = 0;
    if (buffer_.empty() && buffer_.capacity() > kKeptCapacity)
        buffer_ = std::string();
    buffer_ += bytes;
}

FrameParser::Result FrameParser::next(Frame &frame)
{
    if (error_ != FrameError::none)
        return Result::error;
    if (searching_ && !find_magic())
        return Result::need_more;

    const std::string_view waiting = std::string_view(buffer_).substr(start_);
    const std::size_t seen = std::min(waiting.size(), sizeof kFrameMagic);
    if (waiting.substr(0, seen) != magic_bytes().substr(0, seen))
        return refuse(FrameError::magic, "bytes that are no frame arrived on the control channel");
    if (waiting.size() < kHeaderSize)
        return Result::need_more;
    const auto version = load<std::uint16_t>(waiting, kVersionAt);
    if (version != kProtocolVersion)
        return refuse(FrameError::version, "the peer speaks agent protocol version " +
                                               std::to_string(version) + ", this side version " +
                                               std::to_string(kProtocolVersion));
    const auto length = load<std::uint32_t>(waiting, kLengthAt);
    if (length > kPayloadLimit)
        return refuse(FrameError::length, "a frame claims a payload of " + std::to_string(length) +
                                              " bytes, the limit is " +
                                              std::to_string(kPayloadLimit));
    if (waiting.size() < kHeaderSize + length)
        return Result::need_more;
    const std::string_view bytes = waiting.substr(0, kHeaderSize + length);
    if (load<std::uint32_t>(bytes, kChecksumAt) != checksum(bytes))
        return refuse(FrameError::checksum, "a frame arrived damaged: its checksum is wrong");

    frame.type = static_cast<MessageType>(load<std::uint16_t>(bytes, kTypeAt));
    frame.request_id = load<std::uint32_t>(bytes, kRequestAt);
    frame.payload = bytes.substr(kHeaderSize);
    start_ += bytes.size();
    return Result::frame;
}

FrameParser::Result FrameParser::refuse(FrameError error, std::string text)
{
    error_ = error;
    error_text_ = std::move(text);
    return Result::error;
}

void FrameParser::resynchronise()
{
    if (error_ == FrameError::none)
        return;
    error_ = FrameError::none;
    error_text_.clear();
    // A refused frame begins with the magic number itself: look beyond it.
    start_ = std::min(start_ + 1, buffer_.size());
    searching_ = true;
}

bool FrameParser::find_magic()
{
    const std::size_t found = buffer_.find(magic_bytes(), start_);
    searching_ = found == std::string::npos;
    if (!searching_) {
        start_ = found;
        return true;
    }
    // The number may be cut off at the end of what has arrived.
    const std::size_t kept = sizeof kFrameMagic - 1;
    start_ = std::max(start_, buffer_.size() - std::min(buffer_.size(), kept));
    return false;
}

void FrameParser::reset()
{
    *this = FrameParser();
}

} // namespace fencepost::agent
