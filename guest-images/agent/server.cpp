// SPDX-License-Identifier: GPL-2.0-or-later
// See server.h. A request that cannot be done is a reply; only a broken channel ends the server.
#include "guest-images/agent/server.h"

#include <cerrno>
#include <csignal>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-images/agent/clock.h"
#include "guest-images/agent/file_requests.h"
#include "guest-images/agent/judge_request.h"
#include "guest-images/agent/mount_requests.h"
#include "guest-images/agent/pm_devices.h"
#include "guest-images/agent/run_request.h"

namespace fencepost::agent {

namespace {

Outcome<PingReply> ping(const PingRequest &request)
{
    return PingReply{request.data};
}

Outcome<ListPmReply> list_pm(const ListPmRequest &)
{
    return ListPmReply{list_pm_devices()};
}

// Done by the caller of serve(), once the reply is out.
Outcome<PowerOffReply> power_off(const PowerOffRequest &)
{
    return PowerOffReply();
}

std::string refusal(const Frame &frame, const std::string &why)
{
    return encode_message(frame.request_id,
                          ProtocolError{"a request of type " +
                                        std::to_string(static_cast<unsigned>(frame.type)) + " " +
                                        why});
}

template <typename Request, typename Reply, typename... Kept>
std::string answer_with(Outcome<Reply> (*handler)(const Request &, Kept &...), const Frame &frame,
                        Kept &...kept)
{
    Request request;
    if (!decode_payload(frame.payload, request))
        return refusal(frame, "has a malformed payload");
    const Outcome<Reply> outcome = handler(request, kept...);
    if (const auto *failed = std::get_if<Failure>(&outcome))
        return encode_message(frame.request_id, *failed);
    return encode_message(frame.request_id, *std::get_if<Reply>(&outcome));
}

std::string answer(const Frame &frame, std::optional<KernelLogTail> &log, int channel)
{
    TellStep tell = [&](JudgeStep step) {
        write_frame(channel, encode_message(frame.request_id, StepBegun{step}));
    };
    switch (frame.type) {
    case MessageType::ping:
        return answer_with(ping, frame);
    case MessageType::run:
        return answer_with(run_command, frame);
    case MessageType::mount:
        return answer_with(mount_file_system, frame);
    case MessageType::unmount:
        return answer_with(unmount_file_system, frame);
    case MessageType::read_file:
        return answer_with(read_file, frame);
    case MessageType::write_file:
        return answer_with(write_file, frame);
    case MessageType::list_pm:
        return answer_with(list_pm, frame);
    case MessageType::judge:
        return answer_with(judge_image, frame, log, tell);
    case MessageType::power_off:
        return answer_with(power_off, frame);
    default:
        return refusal(frame, "is unknown");
    }
}

enum class Read { some, closed };

Read read_some(int channel, FrameParser &parser)
{
    constexpr std::uint64_t kHostAwayUsec = 50'000;
    for (;;) {
        char buffer[65536];
        const ssize_t got = read(channel, buffer, sizeof buffer);
        if (got > 0) {
            parser.feed({buffer, static_cast<std::size_t>(got)});
            return Read::some;
        }
        if (got < 0 && errno == EINTR)
            continue;
        struct stat status;
        if (fstat(channel, &status) < 0 || !S_ISCHR(status.st_mode))
            return Read::closed;
        // A port whose host end is not connected: it may be again.
        pause_usec(kHostAwayUsec);
    }
}

} // namespace

void prepare_to_serve()
{
    signal(SIGPIPE, SIG_IGN);
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, nullptr);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The modes of requests are meant as they are.
    umask(0);
}

bool write_frame(int channel, std::string_view frame)
{
    while (!frame.empty()) {
        const ssize_t put = write(channel, frame.data(), frame.size());
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        frame.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

ServeEnd serve(int channel, std::string_view greeting)
{
    prepare_to_serve();
    if (!write_frame(channel, greeting))
        return ServeEnd::channel_closed;
    FrameParser parser;
    std::optional<KernelLogTail> log;
    for (;;) {
        Frame frame;
        switch (parser.next(frame)) {
        case FrameParser::Result::need_more:
            if (read_some(channel, parser) == Read::closed)
                return ServeEnd::channel_closed;
            break;
        case FrameParser::Result::error:
            if (!write_frame(channel, encode_message(0, ProtocolError{parser.error_text()})))
                return ServeEnd::channel_closed;
            parser.resynchronise();
            break;
        case FrameParser::Result::frame:
            const MessageType type = frame.type;
            if (!write_frame(channel, answer(frame, log, channel)))
                return ServeEnd::channel_closed;
            if (type == MessageType::power_off)
                return ServeEnd::power_off;
            break;
        }
    }
}

} // namespace fencepost::agent
