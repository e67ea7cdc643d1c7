// SPDX-License-Identifier: GPL-2.0-or-later
// Which pages of which files a process has mapped to be shared: through how many addresses and
// processes one is mapped, it is the same memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "qemu-plugin/address_range.h"

namespace fencepost::tracer {

struct FilePage {
    std::uint64_t file = 0;   // id of the open() that the mapping goes back to
    std::uint64_t offset = 0; // in the file, of the page's first byte

    bool operator==(const FilePage &) const = default;
};

// May lack a mapping that is there, and never has one that is not.
class SharedMappings {
public:
    // `first`: what is at its start; whatever was in the range before is gone.
    void map(const AddressRange &range, const FilePage &first);
    void unmap(const AddressRange &range);
    void clear() { mappings_.clear(); }
    // Leaves what `other` has as well, in the same pieces.
    void keep_common(const SharedMappings &other);

    std::optional<FilePage> at(std::uint64_t address) const;
    // Where the page is mapped.
    std::vector<std::uint64_t> addresses_of(const FilePage &page) const;

private:
    struct Mapping {
        std::uint64_t end;
        FilePage first;

        bool operator==(const Mapping &) const = default;
    };
    std::map<std::uint64_t, Mapping> mappings_; // by their first address
};

} // namespace fencepost::tracer
