// SPDX-License-Identifier: GPL-2.0-or-later
// See mailbox.h.
#include "guest-images/agent/mailbox.h"

#include <cstring>

namespace fencepost::agent {

namespace {

constexpr char kMagic[8] = {'F', 'P', 'M', 'A', 'I', 'L', 'B', 'X'};
constexpr std::uint64_t kRequestStart = 4096;
constexpr std::uint64_t kAnswerStart = kMailboxBytes / 2;

std::uint64_t start_of(MailboxPart part)
{
    return part == MailboxPart::request ? kRequestStart : kAnswerStart;
}

// FNV-1a over words: it finds a half-written message, not a forged one.
std::uint64_t check_of(std::string_view message)
{
    std::uint64_t sum = 0xcbf29ce484222325u;
    while (!message.empty()) {
        std::uint64_t word = 0;
        const std::size_t size = message.size() < sizeof word ? message.size() : sizeof word;
        std::memcpy(&word, message.data(), size);
        sum = (sum ^ word) * 0x100000001b3u;
        message.remove_prefix(size);
    }
    return sum;
}

} // namespace

std::uint64_t Mailbox::capacity(MailboxPart part)
{
    return part == MailboxPart::request ? kAnswerStart - kRequestStart
                                        : kMailboxBytes - kAnswerStart;
}

MailboxHeader Mailbox::header() const
{
    MailboxHeader copy = {};
    if (memory_.size() == kMailboxBytes)
        std::memcpy(&copy, memory_.data(), sizeof copy);
    return copy;
}

void Mailbox::clear()
{
    MailboxHeader fresh = {};
    std::memcpy(fresh.magic, kMagic, sizeof kMagic);
    fresh.version = kMailboxVersion;
    std::memcpy(memory_.data(), &fresh, sizeof fresh);
}

bool Mailbox::valid() const
{
    const MailboxHeader copy = header();
    return std::memcmp(copy.magic, kMagic, sizeof kMagic) == 0 && copy.version == kMailboxVersion &&
           copy.state <= MailboxState::refused;
}

MailboxState Mailbox::state() const
{
    return valid() ? header().state : MailboxState::empty;
}

void Mailbox::set_state(MailboxState state)
{
    std::memcpy(memory_.data() + offsetof(MailboxHeader, state), &state, sizeof state);
}

bool Mailbox::put(MailboxPart part, std::string_view message)
{
    if (message.size() > capacity(part))
        return false;
    std::memcpy(memory_.data() + start_of(part), message.data(), message.size());
    MailboxHeader changed = header();
    const std::uint64_t check = check_of(message);
    if (part == MailboxPart::request) {
        changed.request_bytes = message.size();
        changed.request_check = check;
    } else {
        changed.answer_bytes = message.size();
        changed.answer_check = check;
    }
    std::memcpy(memory_.data(), &changed, sizeof changed);
    return true;
}

std::optional<std::string> Mailbox::take(MailboxPart part) const
{
    const MailboxHeader copy = header();
    const bool request = part == MailboxPart::request;
    const std::uint64_t bytes = request ? copy.request_bytes : copy.answer_bytes;
    if (!valid() || bytes > capacity(part))
        return std::nullopt;
    std::string message(reinterpret_cast<const char *>(memory_.data() + start_of(part)), bytes);
    if (check_of(message) != (request ? copy.request_check : copy.answer_check))
        return std::nullopt;
    return message;
}

const char *to_string(MailboxState state)
{
    switch (state) {
    case MailboxState::empty:
        return "empty";
    case MailboxState::ready:
        return "ready";
    case MailboxState::working:
        return "working";
    case MailboxState::recorded:
        return "recorded";
    case MailboxState::finished:
        return "finished";
    case MailboxState::refused:
        return "refused";
    }
    return "unknown";
}

} // namespace fencepost::agent
