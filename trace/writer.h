// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a trace file; the counterpart of reader.h.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "trace/event_buffer.h"
#include "trace/event_moments.h"
#include "trace/records.h"

namespace fencepost::trace {

struct LateLine;

// One thread at a time. Events come in order through append(); rows about sites, stacks and the
// rest may come before or after the events that name them. Everything is committed in batches, at
// sync() and at finish(): a killed recorder leaves a file that is valid up to its last batch and
// whose state is `running`. Failures are Error(io), for example on a full disk; after one, the
// writer is good for nothing but its destructor, and the file keeps what was committed.
class TraceWriter {
public:
    // A new file, put in its place only once it is a valid trace; an existing one is replaced.
    static TraceWriter create(const std::filesystem::path &path);
    // Goes on with a file that create() made and leave_prepared() closed, perhaps in another
    // process: the command stores what it knows, the plugin the events.
    static TraceWriter open_prepared(const std::filesystem::path &path);

    TraceWriter(TraceWriter &&) noexcept;
    TraceWriter &operator=(TraceWriter &&) = delete;
    ~TraceWriter(); // without finish() or leave_prepared(): the file stays unfinished

    void put_meta(std::string_view key, std::string_view value);
    void put_region(const Region &region);
    // Reads the region's bytes from `file` at region.file_offset; holes cost nothing.
    void put_initial_image(const Region &region, const std::filesystem::path &file);
    void put_initial_image(const Region &region, std::span<const std::byte> bytes);
    void put_site(const Site &site);
    void put_stack_frame(const StackFrame &frame);
    void put_stack(const Stack &stack);
    void put_late_line(const LateLine &late);
    void put_data_quality(const DataQuality &counter);
    // Replaces the number of flushes of volatile memory that the site has executed so far.
    void put_volatile_flushes(SiteId site, std::uint64_t count);

    // With a moment for each event, or without any: then nobody knows.
    void append(const EventBuffer &buffer, std::span<const EventMoment> moments = {});
    std::uint64_t event_count() const;

    // Makes everything so far part of the valid prefix.
    void sync();
    // Closes the file in state `prepared`. Only before the first event.
    void leave_prepared();
    // `complete` when the recording ran to its end, `truncated` when it was cut short on purpose.
    // `outcome` says how the workload ended. On disk when it returns.
    void finish(RecordingState state, std::string_view outcome);

private:
    struct State;
    explicit TraceWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace fencepost::trace
