// SPDX-License-Identifier: GPL-2.0-or-later
// See agent_client.h. Sending and receiving share one poll loop, so that neither side can wait for
// the other to read while its own answer fills the channel.
#include "replayer/guest/agent_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/interrupt.h"

namespace fencepost::guest {

namespace {

using agent::Frame;
using agent::FrameParser;
using agent::MessageType;

constexpr std::size_t kPiece = 1 << 20;

// Guest text for people: no control sequences reach a terminal or split a log line.
std::string visible(std::string_view text)
{
    constexpr std::size_t kLongest = 1000;
    std::string result;
    for (const char c : text.substr(0, kLongest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            result += fmt::format("\\x{:02x}", byte);
        else
            result += c;
    }
    return result;
}

// A deadline, and the time that the machine did not have before it.
class Patience {
public:
    using Waited = std::function<std::chrono::milliseconds()>;

    Patience(Deadline deadline, const Waited &waited)
        : deadline_(deadline),
          most_(kMostTimes * std::chrono::milliseconds(deadline.poll_timeout())), waited_(waited),
          before_(waited ? waited() : std::chrono::milliseconds(0))
    {
    }

    const Deadline &deadline() const { return deadline_; }
    // False: the machine has had its time.
    bool extend()
    {
        if (!waited_)
            return false;
        const auto owed = std::min(waited_() - before_, most_) - given_;
        if (owed < kLeast)
            return false;
        given_ += owed;
        deadline_ = Deadline::after(owed);
        return true;
    }

private:
    static constexpr int kMostTimes = 9;
    static constexpr std::chrono::milliseconds kLeast{10};

    Deadline deadline_;
    std::chrono::milliseconds most_;
    const Waited &waited_;
    std::chrono::milliseconds before_;
    std::chrono::milliseconds given_{0};
};

} // namespace

AgentClient::AgentClient(Fd channel) : channel_(std::move(channel))
{
    const int flags = fcntl(channel_.get(), F_GETFL);
    if (flags < 0 || fcntl(channel_.get(), F_SETFL, flags | O_NONBLOCK) < 0)
        fail_errno("cannot use the guest's control channel");
}

void AgentClient::lose(ChannelLoss loss, const std::string &message)
{
    lost_.emplace(loss, message, step_);
    throw *lost_;
}

void AgentClient::send_some(std::string_view &unsent)
{
    const ssize_t sent = send(channel_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent > 0)
        unsent.remove_prefix(static_cast<std::size_t>(sent));
    else if (sent < 0 && errno != EAGAIN && errno != EINTR)
        lose(ChannelLoss::closed,
             fmt::format("the guest's control channel broke: {}", std::strerror(errno)));
}

void AgentClient::receive_some()
{
    std::array<char, 65536> buffer;
    const ssize_t got = recv(channel_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0)
        parser_.feed({buffer.data(), static_cast<std::size_t>(got)});
    else if (got == 0)
        lose(ChannelLoss::closed, "the guest's control channel was closed");
    else if (errno != EAGAIN && errno != EINTR)
        lose(ChannelLoss::closed,
             fmt::format("the guest's control channel broke: {}", std::strerror(errno)));
}

// Waits until bytes can move, and moves some.
void AgentClient::transfer(std::string_view &unsent, Deadline deadline)
{
    const short wanted = static_cast<short>(POLLIN | (unsent.empty() ? 0 : POLLOUT));
    std::vector<pollfd> waited = {{channel_.get(), wanted, 0}, {interrupt_fd(), POLLIN, 0}};
    // A negative one is not looked at.
    waited.push_back({judging_ ? crash_fd_ : -1, POLLIN, 0});
    for (int end_fd : end_fds_)
        waited.push_back({end_fd, POLLIN, 0});
    if (poll(waited.data(), waited.size(), deadline.poll_timeout()) < 0 && errno != EINTR)
        fail_errno("cannot wait for the guest");

    if (waited[1].revents) {
        lost_.emplace(ChannelLoss::closed, "the guest's answer was not awaited: interrupted");
        throw_if_interrupted();
    }
    if (waited[0].revents & (POLLIN | POLLHUP | POLLERR)) {
        // Before the machine's end is looked at: its last words may be the answer.
        receive_some();
        return;
    }
    if (waited[0].revents & POLLOUT)
        send_some(unsent);
    if (waited[2].revents)
        lose(ChannelLoss::crashed, "the guest's kernel crashed");
    if (std::any_of(waited.begin() + 3, waited.end(),
                    [](const pollfd &end) { return end.revents; }))
        lose(ChannelLoss::closed, "the guest's machine has ended");
}

void AgentClient::take_hello(const Frame &frame)
{
    if (hello_seen_)
        lose(ChannelLoss::protocol, "the guest's agent said hello twice: the guest has restarted");
    hello_ = decode<Hello>(frame);
    hello_seen_ = true;
}

void AgentClient::report_lost_server(const Frame &frame, Sent sent)
{
    const auto lost = decode<agent::ServerLost>(frame);
    const std::string message = fmt::format("the guest agent's server died ({} {})",
                                            lost.by_signal ? "signal" : "exit status", lost.code);
    // The rest of a request that was cut off would be taken for the beginning of the next.
    if (sent == Sent::part)
        lose(ChannelLoss::server_lost, message);
    abandoned_request_ = sent == Sent::all ? last_request_ : 0;
    throw AgentLost(ChannelLoss::server_lost, message, step_);
}

// Handles the frames that have arrived, up to the answer to `request_id`.
bool AgentClient::take_reply(std::uint32_t request_id, Sent sent, Frame &reply)
{
    for (;;) {
        switch (parser_.next(reply)) {
        case FrameParser::Result::need_more:
            return false;
        case FrameParser::Result::error:
            lose(ChannelLoss::protocol, "from the guest: " + parser_.error_text());
        case FrameParser::Result::frame:
            break;
        }
        if (reply.type == MessageType::hello) {
            take_hello(reply);
            if (request_id == 0)
                return true;
        } else if (reply.type == MessageType::server_lost) {
            report_lost_server(reply, sent);
        } else if (reply.type == MessageType::protocol_error) {
            const auto error = decode<agent::ProtocolError>(reply);
            lose(ChannelLoss::protocol,
                 "the guest's agent refused what it was sent: " + visible(error.message));
        } else if (reply.type == MessageType::step_begun && judging_ &&
                   reply.request_id == request_id) {
            step_ = decode<agent::StepBegun>(reply).step;
        } else if (reply.type == MessageType::step_begun &&
                   reply.request_id == abandoned_request_) {
            continue;
        } else if (request_id != 0 && reply.request_id == request_id && sent == Sent::all) {
            return true;
        } else if (abandoned_request_ != 0 && reply.request_id == abandoned_request_) {
            abandoned_request_ = 0;
        } else {
            lose(ChannelLoss::protocol,
                 fmt::format("the guest answered request {}, which was not asked",
                             reply.request_id));
        }
    }
}

// A request id of 0 waits for the hello.
Frame AgentClient::exchange(std::string_view request, std::uint32_t request_id, Deadline deadline)
{
    if (lost_)
        throw *lost_;
    Patience patience(deadline, waited_);
    std::string_view unsent = request;
    const auto sent = [&] {
        return unsent.empty()                    ? Sent::all
               : unsent.size() == request.size() ? Sent::nothing
                                                 : Sent::part;
    };
    Frame reply;
    for (;;) {
        if (take_reply(request_id, sent(), reply))
            return reply;
        // Looked at before the transfer, so that an answer that is already there counts, and a
        // flood of bytes cannot keep us beyond the deadline.
        const bool last_chance = patience.deadline().passed();
        transfer(unsent, patience.deadline());
        if (last_chance) {
            if (take_reply(request_id, sent(), reply))
                return reply;
            if (patience.extend())
                continue;
            lose(ChannelLoss::timed_out, request_id == 0
                                             ? "the guest's agent did not come up in time"
                                             : "the guest's agent did not answer in time");
        }
    }
}

template <typename Message> Message AgentClient::decode(const Frame &frame)
{
    Message message;
    if (frame.type != Message::kType || !agent::decode_payload(frame.payload, message))
        lose(ChannelLoss::protocol,
             fmt::format("the guest sent a malformed message of type {:#x} where {:#x} was due",
                         static_cast<unsigned>(frame.type), static_cast<unsigned>(Message::kType)));
    return message;
}

template <typename Reply, typename Request>
Answer<Reply> AgentClient::ask(const Request &request, Deadline deadline)
{
    const std::string payload = agent::encode_payload(request);
    CHECK(payload.size() <= agent::kPayloadLimit, "a request to the guest is too long");
    if (++last_request_ == 0)
        ++last_request_;
    const Frame frame = exchange(agent::encode_frame(Request::kType, last_request_, payload),
                                 last_request_, deadline);
    if (frame.type != MessageType::failure)
        return decode<Reply>(frame);
    auto failure = decode<Failure>(frame);
    if (failure.error_number <= 0)
        lose(ChannelLoss::protocol, "the guest reported a failure without an error number");
    failure.message = visible(failure.message);
    return failure;
}

Hello AgentClient::wait_hello(Deadline deadline)
{
    if (!hello_)
        exchange({}, 0, deadline);
    return *std::exchange(hello_, std::nullopt);
}

void AgentClient::ping(Deadline deadline)
{
    const agent::PingRequest request = {fmt::format("ping {}", last_request_)};
    const auto reply = ask<agent::PingReply>(request, deadline);
    if (!reply || reply->data != request.data)
        lose(ChannelLoss::protocol, "the guest's agent did not echo a ping");
}

Answer<RunReply> AgentClient::run(const RunRequest &request, Deadline deadline)
{
    return ask<RunReply>(request, deadline);
}

Answer<MountReply> AgentClient::mount(const MountRequest &request, Deadline deadline)
{
    return ask<MountReply>(request, deadline);
}

Answer<UnmountReply> AgentClient::unmount(const std::string &target, Deadline deadline,
                                          std::uint32_t flags)
{
    return ask<UnmountReply>(agent::UnmountRequest{target, flags}, deadline);
}

Answer<ListPmReply> AgentClient::list_pm(Deadline deadline)
{
    return ask<ListPmReply>(agent::ListPmRequest(), deadline);
}

Answer<JudgeReply> AgentClient::judge(const JudgeRequest &request, Deadline deadline)
{
    struct Judging {
        AgentClient &client;
        explicit Judging(AgentClient &of) : client(of) { client.judging_ = true; }
        ~Judging()
        {
            client.judging_ = false;
            client.step_.reset();
        }
    };
    const Judging judging(*this);
    return ask<JudgeReply>(request, deadline);
}

void AgentClient::power_off(Deadline deadline)
{
    try {
        ask<agent::PowerOffReply>(agent::PowerOffRequest(), deadline);
    } catch (const AgentLost &lost) {
        if (lost.loss() != ChannelLoss::closed)
            throw;
    }
}

Answer<ReadFileReply> AgentClient::read_file(const ReadFileRequest &request, Deadline deadline)
{
    auto reply = ask<ReadFileReply>(request, deadline);
    if (reply && reply->data.size() > request.max_length)
        lose(ChannelLoss::protocol, "the guest sent more of a file than was asked for");
    return reply;
}

Answer<WriteFileReply> AgentClient::write_file(const WriteFileRequest &request, Deadline deadline)
{
    return ask<WriteFileReply>(request, deadline);
}

Answer<std::string> AgentClient::read_whole_file(const std::string &path, std::size_t limit,
                                                 Deadline deadline)
{
    std::string data;
    for (;;) {
        auto piece = read_file({path, data.size(), kPiece}, deadline);
        if (!piece)
            return Failure{piece.error_number(), piece.message()};
        data += piece->data;
        if (data.size() > limit)
            return Failure{EFBIG, fmt::format("{} is longer than {} bytes", path, limit)};
        if (piece->at_end)
            return data;
        if (piece->data.empty())
            lose(ChannelLoss::protocol, "the guest sent an empty piece of a file");
    }
}

Answer<WriteFileReply> AgentClient::write_whole_file(const std::string &path, std::string_view data,
                                                     std::uint32_t mode, Deadline deadline)
{
    std::size_t offset = 0;
    for (;;) {
        const std::string_view piece = data.substr(offset, kPiece);
        auto reply = write_file({path, mode, offset, offset == 0, std::string(piece)}, deadline);
        offset += piece.size();
        if (!reply || offset == data.size())
            return reply;
    }
}

} // namespace fencepost::guest
