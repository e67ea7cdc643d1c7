// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a trace file; the counterpart of writer.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/database.h"
#include "trace/event_buffer.h"
#include "trace/event_scan.h"
#include "trace/records.h"

namespace fencepost::trace {

struct SiteRow {
    Site site;
    SiteCounts counts;
    CodeLocation location;
};

struct StackFrameRow {
    StackFrame frame;
    CodeLocation location;
};

struct MarkerRow {
    std::uint64_t seq = 0;
    MarkerKind kind = MarkerKind::note;
    Marker marker;
};

// A trace as it was when it was opened: of a recording that still runs, the part that was
// committed then. Files are untrusted: whatever is wrong with one is an Error(trace).
class TraceReader {
public:
    explicit TraceReader(const std::filesystem::path &path);

    const std::filesystem::path &path() const { return path_; }
    // Tells an unfinished recording (`prepared`, `running`) from one that ended.
    const Recording &recording() const { return recording_; }
    std::uint64_t event_count() const { return recording_.event_count; }

    // The reader must outlive the scan; several scans can go on at once.
    EventScan scan(EventFilter filter = {}) const;

    std::map<std::string, std::string> meta() const;
    std::vector<Region> regions() const;
    std::vector<SiteRow> sites() const;  // by id
    std::vector<Symbol> symbols() const; // by id
    std::vector<Stack> stacks() const;   // by id
    std::vector<StackFrameRow> stack_frames() const;
    std::vector<DataQuality> data_quality() const;
    // In order of seq, first and last included.
    void for_each_marker(const std::function<void(const MarkerRow &)> &visit,
                         std::uint64_t first_seq = 0, std::uint64_t last_seq = UINT64_MAX) const;
    // `bytes`: as many as the region has, all zero.
    void load_initial_image(const Region &region, std::span<std::byte> bytes) const;

    // The connection, for SQL of the user's own.
    sqlite3 *connection() const { return database_.get(); }

private:
    void read_recording();
    void check_blocks() const;

    std::filesystem::path path_;
    Database database_;
    Recording recording_;
};

} // namespace fencepost::trace
