// SPDX-License-Identifier: GPL-2.0-or-later
// The messages between host and guest agent, and their payloads. Texts never hold a NUL byte;
// both ends refuse one that does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guest-images/agent/frame.h"
#include "guest-images/agent/tree.h"

namespace fencepost::agent {

// What one read_file reply, and each output stream of a run, can carry.
inline constexpr std::uint32_t kDataLimit = 4 << 20;
inline constexpr std::uint32_t kListLimit = 1 << 16;

struct PmDevice {
    std::string name; // as in /dev
    std::uint64_t size_bytes = 0;
    bool dax = false;
    // Of the device's first byte: in fsdax mode that is behind the info block. 0: the kernel does
    // not say.
    std::uint64_t physical_start = 0;
    // In the words of the driver that made the device: "raw" and "memory" of a namespace, "ram" and
    // "pmem" of an fsdax device, by where its page structures are. Empty: it does not say.
    std::string mode;

    bool operator==(const PmDevice &) const = default;
};

struct ModuleFailure {
    std::string module; // its line in the list of modules
    std::int32_t error_number = 0;

    bool operator==(const ModuleFailure &) const = default;
};

enum class ChannelKind : std::uint8_t { virtio, serial };

struct Hello {
    static constexpr MessageType kType = MessageType::hello;
    std::uint16_t protocol_version = kProtocolVersion;
    std::string kernel_release;
    ChannelKind channel = ChannelKind::virtio;
    std::uint32_t cpus_online = 0;
    std::vector<ModuleFailure> module_failures;
    std::vector<PmDevice> pm_devices;

    bool operator==(const Hello &) const = default;
};

// The server process died, with the request that it may have been working on; a new one takes the
// next.
struct ServerLost {
    static constexpr MessageType kType = MessageType::server_lost;
    bool by_signal = false;
    std::int32_t code = 0; // exit status, or signal number

    bool operator==(const ServerLost &) const = default;
};

struct ProtocolError {
    static constexpr MessageType kType = MessageType::protocol_error;
    std::string message;

    bool operator==(const ProtocolError &) const = default;
};

struct Failure {
    static constexpr MessageType kType = MessageType::failure;
    std::int32_t error_number = 0;
    std::string message;

    bool operator==(const Failure &) const = default;
};

struct PingRequest {
    static constexpr MessageType kType = MessageType::ping;
    std::string data;

    bool operator==(const PingRequest &) const = default;
};

struct PingReply {
    static constexpr MessageType kType = reply_to(MessageType::ping);
    std::string data; // the request's

    bool operator==(const PingReply &) const = default;
};

struct RunRequest {
    static constexpr MessageType kType = MessageType::run;
    std::vector<std::string> argv;        // argv[0] is looked up on PATH
    std::vector<std::string> environment; // NAME=value, added to the agent's
    std::string directory;                // empty: /
    std::string input;                    // stdin
    std::uint32_t time_limit_ms = 0;      // 0: none

    bool operator==(const RunRequest &) const = default;
};

enum class RunEnd : std::uint8_t { exited, signalled, timed_out };

struct RunReply {
    static constexpr MessageType kType = reply_to(MessageType::run);
    RunEnd end = RunEnd::exited;
    std::int32_t code = 0; // exit status, or signal number; 0 when timed out
    // Processes that were to end with the command and that SIGKILL did not end: they hang in the
    // kernel.
    std::uint32_t survivors = 0;
    std::string output; // stdout
    bool output_truncated = false;
    std::string errors; // stderr
    bool errors_truncated = false;
    std::uint64_t elapsed_usec = 0;

    bool success() const { return end == RunEnd::exited && code == 0; }
    bool operator==(const RunReply &) const = default;
};

struct MountRequest {
    static constexpr MessageType kType = MessageType::mount;
    std::string source;
    std::string target; // made, with its parents, if it is not there
    std::string fstype;
    std::string options; // as for mount(8) -o

    bool operator==(const MountRequest &) const = default;
};

struct MountReply {
    static constexpr MessageType kType = reply_to(MessageType::mount);
    std::uint64_t elapsed_usec = 0; // in the system call

    bool operator==(const MountReply &) const = default;
};

struct UnmountRequest {
    static constexpr MessageType kType = MessageType::unmount;
    std::string target;
    std::uint32_t flags = 0; // of umount2(2)

    bool operator==(const UnmountRequest &) const = default;
};

struct UnmountReply {
    static constexpr MessageType kType = reply_to(MessageType::unmount);
    std::uint64_t elapsed_usec = 0; // in the system call

    bool operator==(const UnmountReply &) const = default;
};

struct ReadFileRequest {
    static constexpr MessageType kType = MessageType::read_file;
    std::string path;
    std::uint64_t offset = 0;
    std::uint32_t max_length = kDataLimit;

    bool operator==(const ReadFileRequest &) const = default;
};

struct ReadFileReply {
    static constexpr MessageType kType = reply_to(MessageType::read_file);
    std::string data;
    bool at_end = false; // nothing follows `data`

    bool operator==(const ReadFileReply &) const = default;
};

struct WriteFileRequest {
    static constexpr MessageType kType = MessageType::write_file;
    std::string path;          // parents are made if they are not there
    std::uint32_t mode = 0644; // of a file that is made; an existing one keeps its own
    std::uint64_t offset = 0;
    bool truncate = true; // before writing
    std::string data;

    bool operator==(const WriteFileRequest &) const = default;
};

struct WriteFileReply {
    static constexpr MessageType kType = reply_to(MessageType::write_file);

    bool operator==(const WriteFileReply &) const = default;
};

struct ListPmRequest {
    static constexpr MessageType kType = MessageType::list_pm;

    bool operator==(const ListPmRequest &) const = default;
};

struct ListPmReply {
    static constexpr MessageType kType = reply_to(MessageType::list_pm);
    std::vector<PmDevice> devices;

    bool operator==(const ListPmReply &) const = default;
};

// All that a guest does to judge one image: mount, look, try out, unmount. One request, because
// every round trip costs more than most of these steps.
// How much of a file system is in use.
struct SpaceUse {
    std::uint64_t blocks = 0;
    std::uint64_t inodes = 0;

    bool operator==(const SpaceUse &) const = default;
};

struct SpaceRange {
    bool known = false;
    SpaceUse least;
    SpaceUse most;

    bool operator==(const SpaceRange &) const = default;
};

struct JudgeRequest {
    static constexpr MessageType kType = MessageType::judge;
    MountRequest mount; // an empty fstype: nothing is mounted, only the command is run
    bool dump = false;
    TreeLimits limits;
    std::string known_blocks; // hashes as in TreeEntry, ascending: their bytes are not sent
    bool usable = false;      // try every directory and every name out
    bool remove = false;      // in the end, all that is there
    SpaceRange expected;      // then in use
    RunRequest command;       // between dump and trial; an empty argv: none
    bool whole_log = false;   // from the oldest record that the kernel still has

    bool operator==(const JudgeRequest &) const = default;
};

enum class JudgeStep : std::uint8_t { mount, dump, command, usable, unmount, remove };

// Said before each step, so that the host knows which one does not end.
struct StepBegun {
    static constexpr MessageType kType = MessageType::step_begun;
    JudgeStep step = JudgeStep::mount;

    bool operator==(const StepBegun &) const = default;
};

struct StepResult {
    JudgeStep step = JudgeStep::mount;
    std::int32_t error_number = 0;
    std::string message; // empty: done
    std::uint64_t elapsed_usec = 0;

    bool operator==(const StepResult &) const = default;
};

// What could not be done in a directory, or with a name, that must be usable.
struct UsableProblem {
    std::string path;      // below the root, which is "."
    std::string operation; // "create", "append", ...; of a name that cannot be looked at: the step
    std::int32_t error_number = 0; // 0: it was done, but what came back was not what went in

    bool operator==(const UsableProblem &) const = default;
};

struct JudgeReply {
    static constexpr MessageType kType = reply_to(MessageType::judge);
    std::vector<StepResult> steps; // those that were begun
    TreeDump tree;
    RunReply command;
    std::vector<UsableProblem> problems; // the first ones
    std::vector<std::string> not_tried;  // and why
    bool removed = false;                // everything, so that what is in use can be compared
    SpaceUse used_before;                // before the trial
    SpaceUse used_after;                 // when everything was removed
    // Records since those of the judge request before, or since the first came; as on the log
    // channel.
    std::string kernel_log;
    std::string log_failure; // why kernel_log is not all of them; empty: it is
    bool still_mounted = false;

    bool operator==(const JudgeReply &) const = default;
};

// Nothing is unmounted or synced first: what PM holds is the caller's business.
struct PowerOffRequest {
    static constexpr MessageType kType = MessageType::power_off;

    bool operator==(const PowerOffRequest &) const = default;
};

struct PowerOffReply {
    static constexpr MessageType kType = reply_to(MessageType::power_off);

    bool operator==(const PowerOffReply &) const = default;
};

// Defined for the structures above that have a kType, and TreeDump.
template <typename Message> std::string encode_payload(const Message &message);
// False when the payload is not exactly one well-formed message; `message` is then half filled.
template <typename Message>
[[nodiscard]] bool decode_payload(std::string_view payload, Message &message);

template <typename Message>
std::string encode_message(std::uint32_t request_id, const Message &message)
{
    return encode_frame(Message::kType, request_id, encode_payload(message));
}

} // namespace fencepost::agent
