// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer target: arbitrary bytes as a stream of agent frames, cut at arbitrary places, every
// payload given to the decoder of every message. `--seeds DIRECTORY` as the only arguments of the
// program writes the seed corpus instead.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {
namespace {

void require(bool condition, const char *what)
{
    if (condition)
        return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

template <typename... Messages> struct MessageList {
};

using AllMessages =
    MessageList<Hello, ServerLost, ProtocolError, Failure, PingRequest, PingReply, RunRequest,
                RunReply, MountRequest, MountReply, UnmountRequest, UnmountReply, ReadFileRequest,
                ReadFileReply, WriteFileRequest, WriteFileReply, ListPmRequest, ListPmReply,
                PowerOffRequest, PowerOffReply, JudgeRequest, JudgeReply>;

template <typename Message> void decode_and_encode(std::string_view payload)
{
    Message message;
    if (!decode_payload(payload, message))
        return;
    require(encode_payload(message) == payload, "a payload has only one encoding");
}

template <typename... Messages>
void decode_as_each(std::string_view payload, MessageList<Messages...>)
{
    (decode_and_encode<Messages>(payload), ...);
}

// The first byte says in how small pieces the rest arrives.
void parse_stream(std::string_view input)
{
    if (input.empty())
        return;
    const std::size_t piece = 1 + static_cast<unsigned char>(input[0]);
    input.remove_prefix(1);
    FrameParser parser;
    while (!input.empty()) {
        parser.feed(input.substr(0, piece));
        input.remove_prefix(std::min(piece, input.size()));
        Frame frame;
        for (FrameParser::Result result;
             (result = parser.next(frame)) != FrameParser::Result::need_more;) {
            if (result == FrameParser::Result::error) {
                require(!parser.error_text().empty(), "a refusal says why");
                parser.resynchronise();
                continue;
            }
            require(frame.payload.size() <= kPayloadLimit, "a payload within the limit");
            decode_as_each(frame.payload, AllMessages());
        }
    }
}

template <typename... Messages>
void write_seeds(const std::string &directory, MessageList<Messages...>)
{
    const auto write = [&](unsigned type, const std::string &bytes) {
        char name[32];
        std::snprintf(name, sizeof name, "/type-%04x", type);
        std::ofstream(directory + name, std::ios::binary) << '\x10' << bytes;
    };
    (write(static_cast<unsigned>(Messages::kType), encode_message(1, Messages())), ...);
}

} // namespace
} // namespace fencepost::agent

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (*argc == 3 && std::strcmp((*argv)[1], "--seeds") == 0) {
        fencepost::agent::write_seeds((*argv)[2], fencepost::agent::AllMessages());
        std::exit(0);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size)
{
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    fencepost::agent::parse_stream(input);
    // Beyond the checksum, which a mutated frame rarely passes.
    fencepost::agent::decode_as_each(input, fencepost::agent::AllMessages());
    return 0;
}
