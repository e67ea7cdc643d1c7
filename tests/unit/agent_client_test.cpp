// SPDX-License-Identifier: GPL-2.0-or-later
// The host's agent client against a scripted peer: one answer, or none: losses and deadlines.
#include "replayer/guest/agent_client.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/agent_peer.h"

namespace fencepost::guest {
namespace {

TEST(AgentClient, TakesTheHelloEvenIfAPingCameFirst)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        Hello hello;
        hello.kernel_release = "6.1";
        guest.send(encode_message(0, hello));
        echo_ping(guest);
    });
    client.ping(ample());
    EXPECT_EQ(client.wait_hello(ample()).kernel_release, "6.1");
}

TEST(AgentClient, ASecondHelloMeansTheGuestRestarted)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.send(encode_message(0, Hello()) + encode_message(0, Hello()));
    client.wait_hello(ample());
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::protocol);
}

TEST(AgentClient, AnErrnoIsAValue)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        EXPECT_EQ(frame.type, agent::MessageType::mount);
        guest.send(encode_message(frame.request_id, Failure{EUCLEAN, "mount\x1b[2J failed"}));
        echo_ping(guest);
    });
    const auto answer = client.mount({"/dev/pmem0", "/mnt", "ext4", "dax"}, ample());
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error_number(), EUCLEAN);
    EXPECT_EQ(answer.message(), "mount\\x1b[2J failed");
    EXPECT_THROW(*answer, Error);
    client.ping(ample());
}

TEST(AgentClient, AnswersMayComeByteByByte)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        RunReply reply;
        reply.code = 3;
        reply.output = "out";
        for (char byte : encode_message(frame.request_id, reply))
            guest.send({&byte, 1});
    });
    const auto answer = client.run({.argv = {"x"}}, ample());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, 3);
    EXPECT_EQ(answer->output, "out");
}

TEST(AgentClient, SilenceIsATimeOutAndEndsTheClient)
{
    Peer peer;
    AgentClient client(peer.host_end());
    const Stopwatch watch;
    EXPECT_EQ(loss_of([&] { client.ping(Deadline::after(30ms)); }), ChannelLoss::timed_out);
    EXPECT_GE(watch.seconds(), 0.03);
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::timed_out);
    EXPECT_LT(watch.seconds(), 30);
}

TEST(AgentClient, TimeWithoutACpuDoesNotCount)
{
    Peer peer;
    AgentClient client(peer.host_end());
    const Stopwatch watch;
    client.forgive([&] { return watch.seconds() < 0.05 ? 0ms : 300ms; });
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        agent::PingRequest request;
        ASSERT_TRUE(agent::decode_payload(frame.payload, request));
        std::this_thread::sleep_for(200ms);
        guest.send(encode_message(frame.request_id, agent::PingReply{request.data}));
    });
    client.ping(Deadline::after(100ms));
}

TEST(AgentClient, ForgivenessHasAnEnd)
{
    Peer peer;
    AgentClient client(peer.host_end());
    auto waited = 0h;
    client.forgive([&] { return ++waited; });
    const Stopwatch watch;
    EXPECT_EQ(loss_of([&] { client.ping(Deadline::after(30ms)); }), ChannelLoss::timed_out);
    EXPECT_GE(watch.seconds(), 0.3);
    EXPECT_LT(watch.seconds(), 60);
}

TEST(AgentClient, AnEndlessTrickleIsATimeOut)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.play([](Peer &guest) {
        const agent::Frame frame = guest.receive();
        // Most of a frame whose end never comes, sent as fast as the host takes it.
        std::string reply =
            encode_message(frame.request_id, agent::PingReply{std::string(8 << 20, 'x')});
        reply.pop_back();
        guest.send(reply);
    });
    EXPECT_EQ(loss_of([&] { client.ping(Deadline::after(50ms)); }), ChannelLoss::timed_out);
}

TEST(AgentClient, AnAnswerThatIsThereBeatsADeadlineThatHasPassed)
{
    Peer peer;
    AgentClient client(peer.host_end());
    peer.send(encode_message(0, Hello()));
    client.wait_hello(Deadline::after(0ms));
}

TEST(AgentClient, ClosedBeforeOrInsideAnAnswer)
{
    for (std::size_t sent : {0u, 1u, 19u, 25u}) {
        Peer peer;
        AgentClient client(peer.host_end());
        peer.play([sent](Peer &guest) {
            const agent::Frame frame = guest.receive();
            guest.send(
                encode_message(frame.request_id, agent::PingReply{"ping 0"}).substr(0, sent));
            guest.close();
        });
        EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::closed) << sent;
    }
}

TEST(AgentClient, TheMachinesEndIsSeenOnItsOwnDescriptor)
{
    Peer peer;
    const Fd ended(eventfd(1, EFD_CLOEXEC));
    AgentClient client(peer.host_end());
    client.end_with(ended.get());
    std::string message;
    EXPECT_EQ(loss_of([&] { client.ping(ample()); }, &message), ChannelLoss::closed);
    EXPECT_NE(message.find("machine has ended"), std::string::npos) << message;
}

TEST(AgentClient, TheLastWordsOfAMachineStillCount)
{
    Peer peer;
    const Fd ended(eventfd(1, EFD_CLOEXEC));
    peer.send(encode_message(0, Hello()));
    AgentClient client(peer.host_end());
    client.end_with(ended.get());
    client.wait_hello(ample());
}

TEST(AgentClient, GarbageIsAProtocolLoss)
{
    std::string wrong_version = encode_message(1, agent::PingReply{"ping 0"});
    wrong_version[4] = 9;
    std::string oversized = encode_message(1, agent::PingReply());
    oversized[15] = 0x7f;
    const std::string answers[] = {
        "BusyBox login: ",
        wrong_version,
        oversized,
        encode_message(2, agent::PingReply{"ping 0"}),                    // another request's
        encode_message(1, agent::MountReply()),                           // another type
        encode_message(1, agent::PingReply{"another"}),                   // another echo
        encode_frame(agent::reply_to(agent::MessageType::ping), 1, "zz"), // malformed
        encode_message(0, agent::ProtocolError{"what?"}),
    };
    for (const std::string &answer : answers) {
        Peer peer;
        AgentClient client(peer.host_end());
        peer.play([&](Peer &guest) {
            guest.receive();
            guest.send(answer);
        });
        EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::protocol);
        EXPECT_EQ(loss_of([&] { client.ping(ample()); }), ChannelLoss::protocol)
            << "must stay lost";
    }
}

TEST(AgentClient, AnAnswerOfAnotherKindIsAProtocolLoss)
{
    // Each would decode: the same fields under another name, and an errno of nothing.
    for (const std::string &answer :
         {encode_message(1, UnmountReply()), encode_message(1, Failure{0, "nothing"})}) {
        Peer peer;
        AgentClient client(peer.host_end());
        peer.play([&](Peer &guest) {
            guest.receive();
            guest.send(answer);
        });
        EXPECT_EQ(loss_of([&] {
                      client.mount({"a", "b", "c", ""}, ample());
                  }),
                  ChannelLoss::protocol);
    }
}

} // namespace
} // namespace fencepost::guest
