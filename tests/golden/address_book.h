// SPDX-License-Identifier: GPL-2.0-or-later
// The PM of a trace as text: its regions, what they held at first, names for addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/line_tokens.h"
#include "trace/records.h"

namespace fencepost::golden {

class AddressBook {
public:
    void declare_region(LineTokens &line);
    void declare_name(LineTokens &line);
    void set_initial(LineTokens &line);

    // A number, a name, or name+number.
    std::uint64_t address(LineTokens &line);
    // The one that holds all these bytes.
    const trace::Region &region_of(std::uint64_t at, std::uint64_t size, const LineTokens &line);
    // pmem0, where none is declared.
    const std::vector<trace::Region> &regions();
    const std::vector<std::byte> &initial_image(const trace::Region &region) const
    {
        return images_[region.id - 1];
    }

private:
    void add_region(trace::Region region);

    std::vector<trace::Region> regions_;
    std::vector<std::vector<std::byte>> images_; // by region
    std::map<std::string, std::uint64_t, std::less<>> names_;
};

// = NUMBER (up to 8 bytes), = "text" (zeros after it), = *BYTE (repeated), or = hex:DIGITS.
std::vector<std::byte> bytes_of(std::size_t size, LineTokens &line);

} // namespace fencepost::golden
