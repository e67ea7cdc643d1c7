// SPDX-License-Identifier: GPL-2.0-or-later
// Digests of a whole stream of events, whatever blocks and buffers it came in.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "trace/event_buffer.h"

namespace fencepost::trace {

// Order-sensitive. `event_digest` covers everything; `effect_digest` leaves out loads, sites and
// stacks, so that a second pass that captures more of the same execution has the same one.
class StreamDigest {
public:
    void add(const EventBuffer &buffer);
    std::string event_digest() const { return events_.hex(); }
    std::string effect_digest() const { return effects_.hex(); }

private:
    void add_effect(const Event &event);
    void flush_effects();

    Digest events_;
    Digest effects_;
    std::vector<std::uint64_t> words_; // effects on their way to the digest
};

} // namespace fencepost::trace
