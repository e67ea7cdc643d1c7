// SPDX-License-Identifier: GPL-2.0-or-later
// See late_lines.h.
#include "qemu-plugin/late_lines.h"

namespace fencepost::tracer {

void LateLines::put(std::uint64_t address, const void *bytes, unsigned size)
{
    const auto *from = static_cast<const std::byte *>(bytes);
    for (unsigned i = 0; i < size; ++i) {
        const std::uint64_t line = (address + i) / trace::kLineBytes;
        const unsigned at = static_cast<unsigned>((address + i) % trace::kLineBytes);
        trace::LateLine &late = lines_[line];
        late.line = line;
        late.written |= std::uint64_t{1} << at;
        late.bytes[at] = from[i];
    }
}

} // namespace fencepost::tracer
