// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_memory.h.
#include "qemu-plugin/guest_memory.h"

#include <algorithm>
#include <cstring>

namespace fencepost::tracer {

std::optional<std::uint64_t> GuestMemory::read_word(std::uint64_t address)
{
    const std::optional<std::string> bytes = read_bytes(address, sizeof(std::uint64_t));
    if (!bytes)
        return std::nullopt;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes->data(), sizeof word);
    return word;
}

namespace {

// The length of the UTF-8 sequence at `at`; 0 if there is none (RFC 3629).
std::size_t sequence_length(const std::string &bytes, std::size_t at)
{
    const auto byte = [&](std::size_t i) {
        return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
    };
    const unsigned first = byte(at);
    if (first < 0x80)
        return first >= 0x20 || first == '\t' || first == '\n' ? 1 : 0;
    const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(at + i) & 0xc0) != 0x80)
            return 0;
    const unsigned second = byte(at + 1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool not_a_character =
        (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
    return overlong || not_a_character ? 0 : length;
}

} // namespace

std::string as_text(std::string bytes)
{
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = sequence_length(bytes, at);
        if (length == 0)
            bytes[at] = '?';
        at += std::max<std::size_t>(length, 1);
    }
    return bytes;
}

std::optional<std::string> GuestMemory::read_text(std::uint64_t address, std::size_t limit)
{
    // In steps that stay within a page: the page after the text need not exist.
    constexpr std::size_t kStep = 256;
    std::string text;
    while (text.size() < limit) {
        const std::uint64_t at = address + text.size();
        const std::optional<std::string> part = read_bytes(at, kStep - at % kStep);
        if (!part)
            return std::nullopt;
        const std::size_t end = part->find('\0');
        text += part->substr(0, end);
        if (end != std::string::npos)
            return text.size() <= limit ? std::optional(as_text(std::move(text))) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace fencepost::tracer
