// SPDX-License-Identifier: GPL-2.0-or-later
// The host's agent client against a scripted peer: requests after one another, judgements, files.
#include "replayer/guest/agent_client.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/agent_peer.h"

namespace fencepost::guest {
namespace {

TEST(AgentClient, AVersionMismatchNamesBothVersions)
{
    Peer peer;
    std::string hello = encode_message(0, Hello());
    hello[4] = 9;
    peer.send(hello);
    AgentClient client(peer.host_end());
    std::string message;
    EXPECT_EQ(loss_of([&] { client.wait_hello(ample()); }, &message), ChannelLoss::protocol);
    EXPECT_NE(message.find("version 9"), std::string::npos) << message;
    EXPECT_NE(message.find("version 1"), std::string::npos) << message;
}

TEST(AgentClient, AfterALostServerTheNextRequestWorks)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        guest.send(encode_message(frame.request_id, agent::ServerLost{true, 11}));
        echo_ping(guest);
    });
    std::string message;
    EXPECT_EQ(loss_of(
                  [&] {
                      client.mount({"a", "b", "c", ""}, ample());
                  },
                  &message),
              ChannelLoss::server_lost);
    EXPECT_NE(message.find("signal 11"), std::string::npos) << message;
    client.ping(ample());
}

TEST(AgentClient, AServerLostBetweenRequestsIsToldBeforeTheNext)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.send(encode_message(0, agent::ServerLost{true, 9}));
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::server_lost);
    peer.play(echo_ping);
    client.ping(ample());
}

TEST(AgentClient, TheAnswerToAnAbandonedRequestIsDroppedOnce)
{
    Peer peer;
    AgentClient client(peer.host_end());
    // An idle server dies as the request is on its way; its successor answers.
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        const std::string answer = encode_message(frame.request_id, agent::PingReply{"ping 0"});
        guest.send(encode_message(0, agent::ServerLost{true, 9}) + answer);
        echo_ping(guest);
        guest.send(answer);
    });
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::server_lost);
    client.ping(ample());
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::protocol);
}

TEST(AgentClient, LargeRequestsAndAnswersCrossWithoutDeadlock)
{
    Peer peer;
    AgentClient client(peer.host_end());
    const std::string data(10 << 20, 'd');
    peer.play([&](Peer &guest) {
        std::string written;
        while (written.size() < data.size()) {
            const agent::Frame frame = guest.receive();
            WriteFileRequest request;
            ASSERT_TRUE(agent::decode_payload(frame.payload, request));
            EXPECT_EQ(request.offset, written.size());
            EXPECT_EQ(request.truncate, written.empty());
            written += request.data;
            guest.send(encode_message(frame.request_id, WriteFileReply()));
        }
        EXPECT_EQ(written, data);
        const agent::Frame frame = guest.receive();
        guest.send(
            encode_message(frame.request_id, ReadFileReply{std::string(1 << 20, 'r'), true}));
    });
    EXPECT_TRUE(client.write_whole_file("/x", data, 0644, ample()));
    const auto whole = client.read_whole_file("/x", 2 << 20, ample());
    ASSERT_TRUE(whole);
    EXPECT_EQ(*whole, std::string(1 << 20, 'r'));
}

TEST(AgentClient, APeerThatSpeaksWhileItIsSpokenToIsHeard)
{
    Peer peer;
    AgentClient client(peer.host_end());
    // More than the socket holds, and little of it is read: only the loss can end this. What was
    // half sent cannot be taken back.
    peer.play([](Peer &guest) {
        guest.receive_some();
        guest.send(encode_message(0, agent::ServerLost{false, 1}));
    });
    const WriteFileRequest request = {"/x", 0644, 0, true, std::string(8 << 20, 'x')};
    EXPECT_EQ(loss_of([&] { client.write_file(request, ample()); }), ChannelLoss::server_lost);
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::server_lost);
}

TEST(AgentClient, AJudgementThatDoesNotEndNamesItsStep)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        guest.send(encode_message(frame.request_id, agent::StepBegun{JudgeStep::mount}));
        guest.send(encode_message(frame.request_id, agent::StepBegun{JudgeStep::remove}));
    });
    try {
        client.judge({}, Deadline::after(std::chrono::milliseconds(300)));
        FAIL() << "there was no answer";
    } catch (const AgentLost &lost) {
        EXPECT_EQ(lost.loss(), ChannelLoss::timed_out);
        EXPECT_EQ(lost.step(), JudgeStep::remove);
    }
}

TEST(AgentClient, ACrashEndsAJudgementAndNothingElse)
{
    Peer peer;
    AgentClient client(peer.host_end());
    const Fd crash(eventfd(1, EFD_CLOEXEC)); // it has happened
    client.watch_crash(crash.get());
    peer.play([](Peer &guest) {
        const agent::Frame ping = guest.receive();
        guest.send(agent::encode_frame(agent::reply_to(ping.type), ping.request_id, ping.payload));
        guest.receive();
    });
    client.ping(ample());
    EXPECT_EQ(loss_of([&] { client.judge({}, ample()); }), ChannelLoss::crashed);
}

TEST(AgentClient, MoreOfAFileThanAskedForIsRefused)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        guest.send(encode_message(frame.request_id, ReadFileReply{"12345", true}));
    });
    EXPECT_EQ(loss_of([&] { client.read_file({"/x", 0, 4}, ample()); }), ChannelLoss::protocol);
}

TEST(AgentClient, AFileLongerThanTheLimitIsAnErrno)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        guest.send(encode_message(frame.request_id, ReadFileReply{"12345", false}));
    });
    EXPECT_EQ(client.read_whole_file("/x", 4, ample()).error_number(), EFBIG);
}

TEST(AgentClient, PowerOffIsContentWithAClosedChannel)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        EXPECT_EQ(guest.receive().type, agent::MessageType::power_off);
        guest.close();
    });
    client.power_off(ample());
}

} // namespace
} // namespace fencepost::guest
