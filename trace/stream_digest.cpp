// SPDX-License-Identifier: GPL-2.0-or-later
// See stream_digest.h. Events are hashed as they lie in memory, in runs as long as possible; what
// depends on the buffer (offsets of wide values, indexes of markers) is replaced by the contents.
#include "trace/stream_digest.h"

namespace fencepost::trace {

namespace {

void add_marker(Digest &digest, const Marker &marker)
{
    const std::uint64_t words[] = {static_cast<std::uint64_t>(marker.number),
                                   static_cast<std::uint64_t>(marker.result), marker.process,
                                   marker.arguments.size()};
    digest.add_bytes(std::as_bytes(std::span(words)));
    digest.add_bytes(std::as_bytes(std::span(marker.arguments)));
    digest.add(marker.text);
}

} // namespace

void StreamDigest::add_effect(const Event &event)
{
    if (event.kind == EventKind::load)
        return;
    const std::uint64_t shape = static_cast<std::uint64_t>(event.kind) |
                                static_cast<std::uint64_t>(event.subkind) << 8 |
                                static_cast<std::uint64_t>(event.size) << 16 |
                                static_cast<std::uint64_t>(event.flags) << 24 |
                                static_cast<std::uint64_t>(event.vcpu) << 32;
    words_.insert(words_.end(), {event.address, event.value, shape});
}

void StreamDigest::flush_effects()
{
    effects_.add_bytes(std::as_bytes(std::span(words_)));
    words_.clear();
}

void StreamDigest::add(const EventBuffer &buffer)
{
    const std::span<const Event> all = buffer.events();
    std::size_t run = 0; // first event not yet in events_
    for (std::size_t i = 0; i < all.size(); ++i) {
        Event event = all[i];
        const bool is_marker = event.kind == EventKind::marker;
        if (!is_marker && !event.is_wide_store()) {
            add_effect(event);
            continue;
        }
        event.value = 0;
        add_effect(event);
        flush_effects();
        events_.add_bytes(std::as_bytes(all.subspan(run, i - run)));
        events_.add_bytes(std::as_bytes(std::span(&event, 1)));
        run = i + 1;
        for (Digest *digest : {&events_, &effects_}) {
            if (is_marker)
                add_marker(*digest, buffer.markers()[all[i].value]);
            else
                digest->add_bytes(value_of(all[i], buffer.wide_values()));
        }
    }
    events_.add_bytes(std::as_bytes(all.subspan(run)));
    flush_effects();
}

} // namespace fencepost::trace
