// SPDX-License-Identifier: GPL-2.0-or-later
// Memory of the guest by virtual address, in whatever address space is current.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fencepost::tracer {

class GuestMemory {
public:
    virtual ~GuestMemory() = default;

    // `length` (not 0) bytes; nothing if some of them are not mapped.
    virtual std::optional<std::string> read_bytes(std::uint64_t address, std::size_t length) = 0;

    std::optional<std::uint64_t> read_word(std::uint64_t address);
    // Up to its NUL, at most `limit` bytes; nothing if it does not end by then.
    std::optional<std::string> read_text(std::uint64_t address, std::size_t limit);
};

// The guest's bytes as text for whoever reads the trace: valid UTF-8 without control characters,
// each byte that does not fit a question mark.
std::string as_text(std::string bytes);

} // namespace fencepost::tracer
