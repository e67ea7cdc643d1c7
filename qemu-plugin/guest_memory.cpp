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
            return text.size() <= limit ? std::optional(text) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace fencepost::tracer
