// SPDX-License-Identifier: GPL-2.0-or-later
// The host's end of the control channel: typed requests to the agent in a guest.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"
#include "guest-images/agent/protocol.h"
#include "replayer/guest/judged/guest_lost.h"

namespace fencepost::guest {

using agent::ChannelKind;
using agent::Failure;
using agent::Hello;
using agent::JudgeReply;
using agent::JudgeRequest;
using agent::JudgeStep;
using agent::ListPmReply;
using agent::MountReply;
using agent::MountRequest;
using agent::PmDevice;
using agent::ReadFileReply;
using agent::ReadFileRequest;
using agent::RunEnd;
using agent::RunReply;
using agent::RunRequest;
using agent::UnmountReply;
using agent::WriteFileReply;
using agent::WriteFileRequest;

// What the guest said: the reply, or an errno with a sentence. Which of the two is good news is
// for the caller to judge.
template <typename Reply> class Answer {
public:
    Answer(Reply reply) : reply_(std::move(reply)) {}
    Answer(Failure failure) : failure_(std::move(failure)) {}

    explicit operator bool() const { return reply_.has_value(); }
    const Reply &operator*() const { return value(); }
    const Reply *operator->() const { return &value(); }
    // errno in the guest; 0 when there is a reply.
    int error_number() const { return reply_ ? 0 : failure_.error_number; }
    // One sentence; empty when there is a reply. Written by the guest, with control characters
    // made visible.
    const std::string &message() const { return failure_.message; }

private:
    const Reply &value() const
    {
        CHECK(reply_, "a failed guest request taken for a reply");
        return *reply_;
    }

    std::optional<Reply> reply_;
    Failure failure_;
};

// The channel is a connected stream socket. One request at a time, one thread at a time. Every call
// throws AgentLost when no answer can be had, and Error(interrupted). After that the client is
// unusable: an answer may be half read, and further calls throw again. The one exception is
// `server_lost`, after which the next call reaches a new server (unless the request was half sent).
// Everything the guest sends is bounded and checked, but its texts are the guest's.
class AgentClient {
public:
    explicit AgentClient(Fd channel);

    // A descriptor (a pidfd) that is readable once the machine has ended. Borrowed: it must live
    // as long as the client.
    void end_with(int end_fd) { end_fds_.push_back(end_fd); }
    // Readable once the guest's kernel crashed: ends judge requests, which may wait for a thread
    // that is no more. Borrowed likewise.
    void watch_crash(int crash_fd) { crash_fd_ = crash_fd; }
    // How long the machine has waited for a CPU of the host so far. What that grows by while an
    // answer is awaited does not count against the deadline, up to nine times what that gives.
    void forgive(std::function<std::chrono::milliseconds()> waited) { waited_ = std::move(waited); }

    // Said once after a boot, never after a template is restored: there, ping().
    Hello wait_hello(Deadline deadline);
    void ping(Deadline deadline);

    // The deadline should be later than the request's own time limit: that one leaves the guest
    // and the client in order.
    Answer<RunReply> run(const RunRequest &request, Deadline deadline);
    Answer<MountReply> mount(const MountRequest &request, Deadline deadline);
    Answer<UnmountReply> unmount(const std::string &target, Deadline deadline,
                                 std::uint32_t flags = 0);
    Answer<ListPmReply> list_pm(Deadline deadline);
    Answer<JudgeReply> judge(const JudgeRequest &request, Deadline deadline);
    // Returns when the guest has agreed or is gone; the machine may take longer to end.
    void power_off(Deadline deadline);

    // One piece of at most agent::kDataLimit bytes.
    Answer<ReadFileReply> read_file(const ReadFileRequest &request, Deadline deadline);
    Answer<WriteFileReply> write_file(const WriteFileRequest &request, Deadline deadline);
    // All of a file, in as many pieces as it takes; EFBIG when it is longer than `limit`.
    Answer<std::string> read_whole_file(const std::string &path, std::size_t limit,
                                        Deadline deadline);
    Answer<WriteFileReply> write_whole_file(const std::string &path, std::string_view data,
                                            std::uint32_t mode, Deadline deadline);

private:
    template <typename Reply, typename Request>
    Answer<Reply> ask(const Request &request, Deadline deadline);
    template <typename Message> Message decode(const agent::Frame &frame);

    agent::Frame exchange(std::string_view request, std::uint32_t request_id, Deadline deadline);
    enum class Sent { nothing, part, all };
    bool take_reply(std::uint32_t request_id, Sent sent, agent::Frame &reply);
    void take_hello(const agent::Frame &frame);
    [[noreturn]] void report_lost_server(const agent::Frame &frame, Sent sent);
    void transfer(std::string_view &unsent, Deadline deadline);
    void send_some(std::string_view &unsent);
    void receive_some();
    [[noreturn]] void lose(ChannelLoss loss, const std::string &message);

    Fd channel_;
    std::vector<int> end_fds_;
    int crash_fd_ = -1;
    bool judging_ = false;
    std::optional<JudgeStep> step_; // of the request that is being judged
    std::function<std::chrono::milliseconds()> waited_;
    agent::FrameParser parser_;
    std::uint32_t last_request_ = 0;
    // Given up when a server was lost; its answer may still come and is dropped.
    std::uint32_t abandoned_request_ = 0;
    std::optional<Hello> hello_;
    bool hello_seen_ = false;
    std::optional<AgentLost> lost_;
};

} // namespace fencepost::guest
