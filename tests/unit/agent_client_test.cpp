// SPDX-License-Identifier: GPL-2.0-or-later
// The host's agent client against a scripted peer: answers, refusals, losses and deadlines.
#include "replayer/guest/agent_client.h"

#include <cerrno>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fencepost::guest {
namespace {

using namespace std::chrono_literals;
using agent::encode_message;

// For answers that do come; far beyond what a loaded machine needs.
Deadline ample()
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

void echo_ping(Peer &peer)
{
    const agent::Frame frame = peer.receive();
    agent::PingRequest request;
    ASSERT_TRUE(agent::decode_payload(frame.payload, request));
    peer.send(encode_message(frame.request_id, agent::PingReply{request.data}));
}

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
