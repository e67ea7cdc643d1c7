// SPDX-License-Identifier: GPL-2.0-or-later
// Small random traces as files.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/model/small_trace.h"
#include "trace/event_buffer.h"
#include "trace/writer.h"

namespace fencepost::trace {

inline constexpr std::uint64_t kSmallTraceBytes = 4096; // of PM
inline constexpr std::uint64_t kSmallTraceBase = model::kSmallTraceLine * 64;

// Returns what each event stores: bytes that no other event stores.
inline std::vector<std::vector<std::byte>> write_small_trace(const std::filesystem::path &path,
                                                             const std::vector<Event> &events)
{
    std::vector<std::vector<std::byte>> values;
    TraceWriter writer = TraceWriter::create(path);
    writer.put_region(
        {.id = 1, .name = "pm", .base = kSmallTraceBase, .size = kSmallTraceBytes, .file = "pm"});
    EventBuffer buffer(64);
    for (std::size_t i = 0; i < events.size(); ++i) {
        std::vector<std::byte> value(events[i].size);
        for (std::size_t byte = 0; byte < value.size(); ++byte)
            value[byte] = static_cast<std::byte>(1 + i * 16 + byte % 16);
        if (events[i].is_store())
            buffer.push_store(events[i], value.data());
        else if (events[i].kind == EventKind::marker)
            buffer.push_marker(events[i], {});
        else
            buffer.push(events[i]);
        values.push_back(std::move(value));
    }
    writer.append(buffer);
    writer.finish(RecordingState::complete, "");
    return values;
}

} // namespace fencepost::trace
