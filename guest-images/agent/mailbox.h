// SPDX-License-Identifier: GPL-2.0-or-later
// The mailbox of a recording guest: memory that it shares with the host, and the only way between
// the two. The host fills in the request before the guest resumes; the guest leaves its answer and
// stops itself. Nothing arrives while it runs, so nothing can arrive at another instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fencepost::agent {

// Where it is: behind all that a guest may have as RAM and PM. For QEMU it is a virtio-pmem device,
// because that has a fixed place from the start, which restoring asks of shared memory; in the
// guest no driver for it is loaded, so that it never interrupts.
inline constexpr std::uint64_t kMailboxAddress = 9ull << 30; // guest physical
inline constexpr std::uint64_t kMailboxBytes = 64ull << 20;
inline constexpr std::uint32_t kMailboxVersion = 1;

// A guest stops itself by writing kStopValue to this I/O port, QEMU's pvpanic device.
inline constexpr std::uint16_t kStopPort = 0x505;
inline constexpr std::uint8_t kStopValue = 1;

// What the guest has reached when it stops itself.
enum class MailboxState : std::uint32_t {
    empty,    // booting
    ready,    // booted, to be frozen; the answer is a BootReport
    working,  // took a request
    recorded, // the workload is over; PM is as it left it. The guest expects to go on
    finished, // the answer is a JobReport
    refused,  // the answer is a text: what is wrong with the request
};

// At the start of the mailbox. Each side copies it before looking at it, as the other may write.
struct MailboxHeader {
    char magic[8];
    std::uint32_t version;
    MailboxState state;
    std::uint64_t request_bytes;
    std::uint64_t request_check;
    std::uint64_t answer_bytes;
    std::uint64_t answer_check;
};
static_assert(sizeof(MailboxHeader) == 48);

enum class MailboxPart { request, answer };

// Borrowed memory of kMailboxBytes; either side's view of it.
class Mailbox {
public:
    explicit Mailbox(std::span<std::byte> memory) : memory_(memory) {}

    // Empty, of our version.
    void clear();
    // The header is one of ours, with a state that exists.
    bool valid() const;
    MailboxState state() const;
    void set_state(MailboxState state);
    // False: longer than the part.
    [[nodiscard]] bool put(MailboxPart part, std::string_view message);
    // Nothing: its length or its check sum is wrong.
    std::optional<std::string> take(MailboxPart part) const;
    static std::uint64_t capacity(MailboxPart part);

private:
    MailboxHeader header() const;

    std::span<std::byte> memory_;
};

const char *to_string(MailboxState state);

} // namespace fencepost::agent
