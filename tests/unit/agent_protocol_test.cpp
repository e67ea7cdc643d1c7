// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's wire protocol: every message there and back, frames in pieces, and what is refused.
#include "guest-images/agent/protocol.h"

#include <cstring>

#include <gtest/gtest.h>

namespace fencepost::agent {
namespace {

std::string every_byte()
{
    std::string bytes;
    for (int i = 0; i < 256; ++i)
        bytes += static_cast<char>(i);
    return bytes;
}

const PmDevice kDevice = {"pmem0", 128 << 20, true, 4ull << 30, "memory"};

const TreeDump kTree = {
    {{".", FileType::directory, "list", 5, 2, 0755, 1, 2, 3, 0, 0, "", {{"user.a", every_byte()}}},
     {"f",
      FileType::file,
      "",
      0,
      12,
      0644,
      1,
      2,
      3,
      8192,
      0,
      "",
      {},
      {{0, 4096}},
      every_byte(),
      true},
     {"s", FileType::symlink, "", 0, 13, 0777, 1, 2, 3, 0, 7, "../f"}},
    {{0x1234567890abcdef, every_byte()}},
    true,
    99};

// Calls `visit` with one filled-in specimen of every message.
template <typename Visit> void for_each_message(Visit visit)
{
    visit(Hello{1, "6.1.0", ChannelKind::serial, 2, {{"/lib/a.ko x=1", 8}}, {kDevice, {"pmem1"}}});
    visit(ServerLost{true, 11});
    visit(ProtocolError{"no frame"});
    visit(Failure{117, "mount: Structure needs cleaning"});
    visit(PingRequest{every_byte()});
    visit(PingReply{every_byte()});
    visit(RunRequest{{"sh", "-c", "true"}, {"A=b"}, "/tmp", every_byte(), 5000});
    visit(RunReply{RunEnd::timed_out, -1, 2, every_byte(), true, "err", true, 1ull << 40});
    visit(MountRequest{"/dev/pmem0", "/mnt", "ext4", "dax,noatime"});
    visit(MountReply{77});
    visit(UnmountRequest{"/mnt", 2});
    visit(UnmountReply{78});
    visit(ReadFileRequest{"/etc/x", 1ull << 33, 100});
    visit(ReadFileReply{every_byte(), true});
    visit(WriteFileRequest{"/etc/x", 0755, 4096, false, every_byte()});
    visit(WriteFileReply{});
    visit(ListPmRequest{});
    visit(ListPmReply{{kDevice}});
    visit(PowerOffRequest{});
    visit(PowerOffReply{});
    visit(JudgeRequest{{"/dev/pmem0", "/mnt", "ext4", "dax"},
                       true,
                       {10, 20, 1ull << 40},
                       every_byte(),
                       true,
                       true,
                       {true, {1, 2}, {3, 1ull << 40}},
                       {{"check"}, {}, "/mnt", "", 7},
                       true});
    visit(JudgeReply{{{JudgeStep::mount, 117, "mount: Structure needs cleaning", 5}},
                     kTree,
                     RunReply(),
                     {{"a/b", "create", 28}},
                     {"the rest"},
                     true,
                     {5, 6},
                     {7, 8},
                     every_byte(),
                     "it has a gap",
                     true});
}

std::string ping_frame(std::uint32_t id, const std::string &data)
{
    return encode_message(id, PingRequest{data});
}

template <typename Number> void poke(std::string &bytes, std::size_t at, Number value)
{
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(AgentProtocol, EveryMessageSurvivesTheRoundTrip)
{
    int count = 0;
    for_each_message([&](const auto &message) {
        std::decay_t<decltype(message)> decoded;
        EXPECT_TRUE(decode_payload(encode_payload(message), decoded));
        EXPECT_EQ(decoded, message);
        ++count;
    });
    EXPECT_EQ(count, 22);
}

TEST(AgentProtocol, EveryTruncationIsRefused)
{
    for_each_message([](const auto &message) {
        const std::string payload = encode_payload(message);
        for (std::size_t length = 0; length < payload.size(); ++length) {
            std::decay_t<decltype(message)> decoded;
            EXPECT_FALSE(decode_payload(std::string_view(payload).substr(0, length), decoded))
                << "type " << static_cast<int>(message.kType) << " cut to " << length;
        }
    });
}

TEST(AgentProtocol, TrailingBytesAreRefused)
{
    for_each_message([](const auto &message) {
        std::decay_t<decltype(message)> decoded;
        EXPECT_FALSE(decode_payload(encode_payload(message) + '\0', decoded));
    });
}

TEST(AgentProtocol, TextWithNulIsRefused)
{
    UnmountRequest decoded;
    EXPECT_FALSE(
        decode_payload(encode_payload(UnmountRequest{std::string("/a\0b", 4), 0}), decoded));
}

TEST(AgentProtocol, FlagsAndChoicesOutOfRangeAreRefused)
{
    ServerLost lost;
    std::string payload = encode_payload(ServerLost{true, 1});
    payload[0] = 2;
    EXPECT_FALSE(decode_payload(payload, lost));

    RunReply reply;
    payload = encode_payload(RunReply());
    payload[0] = 3;
    EXPECT_FALSE(decode_payload(payload, reply));
}

TEST(AgentProtocol, CountsBeyondTheLimitOrThePayloadAreRefused)
{
    ListPmReply decoded;
    std::string payload = encode_payload(ListPmReply{{kDevice}});
    poke<std::uint32_t>(payload, 0, 2);
    EXPECT_FALSE(decode_payload(payload, decoded));
    poke<std::uint32_t>(payload, 0, 0xffffffff);
    EXPECT_FALSE(decode_payload(payload, decoded));

    RunRequest request;
    request.argv.assign(kListLimit, "");
    RunRequest back;
    EXPECT_TRUE(decode_payload(encode_payload(request), back));
    request.argv.emplace_back();
    EXPECT_FALSE(decode_payload(encode_payload(request), back));
}

TEST(AgentProtocol, LengthsNearTheTopOfTheirRangeAreRefused)
{
    PingRequest decoded;
    std::string payload = encode_payload(PingRequest{"abcd"});
    for (std::uint32_t length : {5u, 0x7fffffffu, 0xfffffff8u, 0xffffffffu}) {
        poke(payload, 0, length);
        EXPECT_FALSE(decode_payload(payload, decoded)) << length;
    }
}

TEST(FrameParser, TakesFramesCutAtEveryByte)
{
    const std::string stream =
        ping_frame(7, "first") + ping_frame(8, "") + ping_frame(9, every_byte());
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        FrameParser parser;
        std::vector<std::uint32_t> ids;
        Frame frame;
        for (const std::string_view part :
             {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
            parser.feed(part);
            while (parser.next(frame) == FrameParser::Result::frame)
                ids.push_back(frame.request_id);
            ASSERT_EQ(parser.error(), FrameError::none) << "cut at " << cut;
        }
        EXPECT_EQ(ids, (std::vector<std::uint32_t>{7, 8, 9})) << "cut at " << cut;
    }
}

TEST(FrameParser, TakesSingleBytes)
{
    const std::string stream = ping_frame(1, "x");
    FrameParser parser;
    Frame frame;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        EXPECT_EQ(parser.next(frame), FrameParser::Result::need_more);
        parser.feed(std::string_view(stream).substr(i, 1));
    }
    ASSERT_EQ(parser.next(frame), FrameParser::Result::frame);
    EXPECT_EQ(frame.type, MessageType::ping);
    PingRequest request;
    ASSERT_TRUE(decode_payload(frame.payload, request));
    EXPECT_EQ(request.data, "x");
}

struct Refusal {
    const char *name;
    std::size_t at;
    std::uint32_t value;
    FrameError error;
};

TEST(FrameParser, RefusesEachKindOfBadFrame)
{
    const Refusal refusals[] = {
        {"magic", 0, 0x12345678, FrameError::magic},
        {"version and type", 4, 2 | (1 << 16), FrameError::version},
        {"request id", 8, 99, FrameError::checksum},
        {"length", 12, kPayloadLimit + 1, FrameError::length},
        {"shorter length", 12, 4, FrameError::checksum},
        {"checksum", 16, 0, FrameError::checksum},
        {"payload", 20, 0xdead, FrameError::checksum},
        {"end of the payload", 25, 0xdead, FrameError::checksum},
    };
    for (const Refusal &refusal : refusals) {
        std::string bytes = ping_frame(1, "hello");
        ASSERT_EQ(bytes.size(), 29u);
        poke(bytes, refusal.at, refusal.value);
        FrameParser parser;
        parser.feed(bytes);
        Frame frame;
        EXPECT_EQ(parser.next(frame), FrameParser::Result::error) << refusal.name;
        EXPECT_EQ(parser.error(), refusal.error) << refusal.name;
        EXPECT_FALSE(parser.error_text().empty());
        parser.feed(ping_frame(2, ""));
        EXPECT_EQ(parser.next(frame), FrameParser::Result::error) << "must stay refused";
    }
}

TEST(FrameParser, NamesBothVersions)
{
    std::string bytes = ping_frame(1, "");
    poke<std::uint16_t>(bytes, 4, 41);
    FrameParser parser;
    parser.feed(bytes);
    Frame frame;
    ASSERT_EQ(parser.next(frame), FrameParser::Result::error);
    EXPECT_NE(parser.error_text().find("version 41"), std::string::npos) << parser.error_text();
    EXPECT_NE(parser.error_text().find("version " + std::to_string(kProtocolVersion)),
              std::string::npos);
}

TEST(FrameParser, RefusesAnOversizedFrameAtItsHeader)
{
    std::string header = ping_frame(1, "").substr(0, kHeaderSize);
    poke<std::uint32_t>(header, 12, kPayloadLimit + 1);
    FrameParser parser;
    parser.feed(header);
    Frame frame;
    EXPECT_EQ(parser.next(frame), FrameParser::Result::error);
    EXPECT_EQ(parser.error(), FrameError::length);
}

TEST(FrameParser, RefusesGarbageAtItsFirstByte)
{
    FrameParser parser;
    parser.feed("\n");
    Frame frame;
    EXPECT_EQ(parser.next(frame), FrameParser::Result::error);
}

TEST(FrameParser, FindsTheNextFrameAfterGarbage)
{
    const std::string good = ping_frame(5, "ok");
    std::string damaged = ping_frame(4, "damaged");
    damaged.back() = '!';
    for (const std::string &garbage : {std::string("login: "), std::string("FPA"), damaged,
                                       ping_frame(4, "cut off").substr(0, 21), every_byte()}) {
        for (std::size_t cut = 0; cut <= garbage.size() + good.size(); ++cut) {
            const std::string stream = garbage + good;
            FrameParser parser;
            Frame frame;
            int found = 0;
            int errors = 0;
            for (const std::string &part : {stream.substr(0, cut), stream.substr(cut)}) {
                parser.feed(part);
                for (FrameParser::Result result;
                     (result = parser.next(frame)) != FrameParser::Result::need_more;) {
                    if (result == FrameParser::Result::error) {
                        ++errors;
                        parser.resynchronise();
                    } else {
                        ++found;
                        EXPECT_EQ(frame.request_id, 5u);
                    }
                }
            }
            // A frame that was cut off swallows what follows it, up to its own length.
            const bool cut_off = garbage.size() == 21;
            EXPECT_EQ(found, cut_off ? found : 1) << garbage << " cut at " << cut;
            EXPECT_LE(errors, 2);
        }
    }
}

} // namespace
} // namespace fencepost::agent
