// SPDX-License-Identifier: GPL-2.0-or-later
// See writer.h. While recording nothing waits for the disk: the operating system keeps what a
// killed process has committed. finish() waits, so that a file that says `complete` is, even after
// a power cut.
#include "trace/writer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/files.h"
#include "trace/block.h"
#include "trace/database.h"
#include "trace/file_check.h"
#include "trace/image.h"
#include "trace/late_lines.h"
#include "trace/schema.h"
#include "trace/stream_digest.h"
#include "trace/tables.h"

namespace fencepost::trace {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBatchBytes = 4 << 20;
constexpr double kBatchSeconds = 1;
// A reader that holds the file makes the recorder wait, never lose.
constexpr int kBusyMilliseconds = 600'000;

void remove_if_there(const fs::path &path)
{
    std::error_code error;
    fs::remove(path, error);
    if (error)
        fail_errno(fmt::format("cannot replace {}", path.string()), error.value());
}

void make_empty_trace(const fs::path &path)
{
    Database database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    register_tables(database.get());
    database.execute("PRAGMA page_size = 16384; PRAGMA journal_mode = DELETE;");
    database.execute(std::string("BEGIN;") + kSchema + "COMMIT;");
    const StreamDigest nothing;
    Statement(database.get(), "INSERT INTO recording VALUES (1, 'prepared', 0, ?1, ?2, '')")
        .bind(1, std::string_view(nothing.event_digest()))
        .bind(2, std::string_view(nothing.effect_digest()))
        .run();
}

std::string as_json(std::span<const std::uint64_t> numbers)
{
    std::string text = "[";
    for (const std::uint64_t number : numbers) {
        if (text.size() > 1)
            text += ',';
        text += std::to_string(static_cast<std::int64_t>(number));
    }
    return text + "]";
}

} // namespace

struct TraceWriter::State {
    explicit State(Database opened);

    void write_block();
    void write_markers(const EventBuffer &buffer, std::uint64_t first_seq);
    void write_counts();
    void begin();
    void commit(RecordingState recording, std::string_view outcome);

    Database database;
    Statement add_block;
    Statement add_marker;
    Statement add_site;
    Statement add_frame;
    Statement add_stack;
    Statement set_counts;
    Statement set_recording;
    BlockEncoder encoder;
    MomentWriter moments; // of the events in `encoder`, or none
    StreamDigest digest;
    std::unordered_map<SiteId, SiteCounts> counts;
    std::unordered_set<SiteId> changed_counts;
    std::uint64_t event_count = 0;
    std::uint64_t block_seq = 0; // seq of the first event that is not in a written block
    std::size_t batch_bytes = 0;
    Stopwatch since_commit;
    bool in_batch = false;
    bool closed = false;
};

TraceWriter::State::State(Database opened)
    : database(std::move(opened)),
      add_block(database.get(),
                "INSERT INTO event_block VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"),
      add_marker(database.get(), "INSERT INTO marker VALUES (?1,?2,?3,?4,?5,?6,?7)"),
      add_site(database.get(),
               "INSERT OR REPLACE INTO site (id, pc, privilege, address_space, module,"
               " instruction, disassembly) VALUES (?1,?2,?3,?4,?5,?6,?7)"),
      add_frame(database.get(),
                "INSERT OR REPLACE INTO stack_frame (id, pc, privilege, address_space,"
                " module) VALUES (?1,?2,?3,?4,?5)"),
      add_stack(database.get(), "INSERT OR REPLACE INTO stack VALUES (?1, nullif(?2, 0), ?3)"),
      set_counts(database.get(), "INSERT OR REPLACE INTO site_count VALUES (?1,?2,?3,?4,?5,?6,?7)"),
      set_recording(database.get(),
                    "UPDATE recording SET state = ?1, event_count = ?2, event_digest = ?3,"
                    " effect_digest = ?4, outcome = ?5"),
      moments(database.get())
{
    sqlite3_busy_timeout(database.get(), kBusyMilliseconds);
    // A batch fits in the cache, so a reader is shut out only while the batch is copied to the
    // file.
    database.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -16384");
}

void TraceWriter::State::begin()
{
    CHECK(!closed, "writing to a trace that is closed");
    if (in_batch)
        return;
    database.execute("BEGIN IMMEDIATE");
    in_batch = true;
}

void TraceWriter::State::commit(RecordingState recording, std::string_view outcome)
{
    begin();
    write_counts();
    set_recording.bind(1, name_of(recording))
        .bind(2, block_seq)
        .bind(3, std::string_view(digest.event_digest()))
        .bind(4, std::string_view(digest.effect_digest()))
        .bind(5, outcome)
        .run();
    database.execute("COMMIT");
    // The pages of a batch are never needed again; kept, they would fill the cache.
    sqlite3_db_release_memory(database.get());
    in_batch = false;
    batch_bytes = 0;
    since_commit = {};
}

void TraceWriter::State::write_block()
{
    if (encoder.empty())
        return;
    begin();
    const EncodedBlock block = encoder.finish();
    add_block.bind(1, block_seq)
        .bind(2, std::uint64_t{block.event_count})
        .bind(3, std::uint64_t{block.kinds});
    if (block.touches_lines)
        add_block.bind(4, block.bounds.first).bind(5, block.bounds.last);
    else
        add_block.bind_null(4).bind_null(5);
    add_block.bind(6, std::string_view(block.digest))
        .bind(7, std::string_view(block.value_digest))
        .bind(8, block.shapes)
        .bind(9, block.lines)
        .bind(10, block.positions)
        .bind(11, block.stored_values)
        .run();
    batch_bytes += moments.write_block(block_seq);
    block_seq += block.event_count;
    batch_bytes += block.lines.size() + block.positions.size() + block.stored_values.size();
    for (const auto &[shape, times] : block.shape_counts) {
        if (shape.kind == EventKind::marker || shape.site == 0)
            continue;
        SiteCounts &count = counts[shape.site];
        changed_counts.insert(shape.site);
        std::uint64_t *const fields[kEventKinds] = {&count.stores, &count.nt_stores, &count.flushes,
                                                    &count.fences, nullptr,          &count.loads};
        *fields[static_cast<unsigned>(shape.kind)] += times;
    }
}

void TraceWriter::State::write_markers(const EventBuffer &buffer, std::uint64_t first_seq)
{
    if (buffer.markers().empty())
        return;
    begin();
    for (std::size_t i = 0; i < buffer.events().size(); ++i) {
        const Event &event = buffer.events()[i];
        if (event.kind != EventKind::marker)
            continue;
        CHECK(event.value < buffer.markers().size(), "a marker that is not in its buffer");
        const Marker &marker = buffer.markers()[event.value];
        const std::string arguments = as_json(marker.arguments);
        add_marker.bind(1, first_seq + i)
            .bind(2, name_of(event.marker_kind()))
            .bind(3, marker.number)
            .bind(4, marker.result)
            .bind(5, marker.process)
            .bind(6, std::string_view(arguments))
            .bind(7, std::string_view(marker.text))
            .run();
    }
}

void TraceWriter::State::write_counts()
{
    for (const SiteId site : changed_counts) {
        const SiteCounts &count = counts[site];
        set_counts.bind(1, std::uint64_t{site})
            .bind(2, count.stores)
            .bind(3, count.nt_stores)
            .bind(4, count.flushes)
            .bind(5, count.fences)
            .bind(6, count.loads)
            .bind(7, count.volatile_flushes)
            .run();
    }
    changed_counts.clear();
}

TraceWriter::TraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceWriter::TraceWriter(TraceWriter &&) noexcept = default;
TraceWriter::~TraceWriter() = default;

TraceWriter TraceWriter::create(const fs::path &path)
{
    const fs::path beside = path.string() + fmt::format(".{}.new", getpid());
    remove_if_there(beside);
    try {
        make_empty_trace(beside);
        // In this order: a journal left by a killed recorder must never meet the new file.
        remove_if_there(path);
        remove_if_there(path.string() + "-journal");
        if (rename(beside.c_str(), path.c_str()) < 0)
            fail_errno(fmt::format("cannot write {}", path.string()));
    } catch (...) {
        unlink(beside.c_str());
        throw;
    }
    return open_prepared(path);
}

TraceWriter TraceWriter::open_prepared(const fs::path &path)
{
    Database database = open_trace(path, OpenFor::writing);
    if (database.integer("SELECT count(*) FROM recording WHERE state = 'prepared'") != 1)
        fail(ErrorKind::trace, "{} already holds a recording; record to another file",
             path.string());
    return TraceWriter(std::make_unique<State>(std::move(database)));
}

void TraceWriter::put_meta(std::string_view key, std::string_view value)
{
    state_->begin();
    Statement(state_->database.get(), "INSERT OR REPLACE INTO meta VALUES (?1, ?2)")
        .bind(1, key)
        .bind(2, value)
        .run();
}

void TraceWriter::put_region(const Region &region)
{
    state_->begin();
    store_region(state_->database.get(), region);
}

void TraceWriter::put_initial_image(const Region &region, const fs::path &file)
{
    state_->begin();
    store_initial_image(state_->database.get(), region, file);
}

void TraceWriter::put_initial_image(const Region &region, std::span<const std::byte> bytes)
{
    state_->begin();
    store_initial_image(state_->database.get(), region, bytes);
}

void TraceWriter::put_site(const Site &site)
{
    state_->begin();
    state_->add_site.bind(1, std::uint64_t{site.id})
        .bind(2, site.pc)
        .bind(3, name_of(site.privilege))
        .bind(4, site.address_space)
        .bind(5, std::string_view(site.module))
        .bind(6, site.instruction)
        .bind(7, std::string_view(site.disassembly))
        .run();
}

void TraceWriter::put_stack_frame(const StackFrame &frame)
{
    state_->begin();
    state_->add_frame.bind(1, std::uint64_t{frame.id})
        .bind(2, frame.pc)
        .bind(3, name_of(frame.privilege))
        .bind(4, frame.address_space)
        .bind(5, std::string_view(frame.module))
        .run();
}

void TraceWriter::put_stack(const Stack &stack)
{
    state_->begin();
    state_->add_stack.bind(1, std::uint64_t{stack.id})
        .bind(2, std::uint64_t{stack.parent})
        .bind(3, std::uint64_t{stack.frame})
        .run();
}

void TraceWriter::put_late_line(const LateLine &late)
{
    state_->begin();
    Statement(state_->database.get(), "INSERT OR REPLACE INTO late_line VALUES (?1,?2,?3)")
        .bind(1, late.line)
        .bind(2, late.written)
        .bind(3, std::span<const std::byte>(late.bytes))
        .run();
}

void TraceWriter::put_data_quality(const DataQuality &counter)
{
    state_->begin();
    Statement(state_->database.get(), "INSERT OR REPLACE INTO data_quality VALUES (?1,?2,?3,?4)")
        .bind(1, std::string_view(counter.name))
        .bind(2, counter.value)
        .bind(3, name_of(counter.severity))
        .bind(4, std::string_view(counter.meaning))
        .run();
}

void TraceWriter::put_volatile_flushes(SiteId site, std::uint64_t count)
{
    state_->counts[site].volatile_flushes = count;
    state_->changed_counts.insert(site);
}

void TraceWriter::append(const EventBuffer &buffer, std::span<const EventMoment> moments)
{
    State &state = *state_;
    CHECK(!state.closed, "writing to a trace that is closed");
    CHECK(moments.empty() || moments.size() == buffer.size(), "a moment for each event, or none");
    CHECK(buffer.empty() || state.encoder.empty() || state.moments.empty() == moments.empty(),
          "moments of some events of a block");
    state.write_markers(buffer, state.event_count);
    for (std::span<const Event> rest = buffer.events(); !rest.empty();) {
        const std::size_t taken = state.encoder.add(rest, buffer.wide_values());
        rest = rest.subspan(taken);
        state.moments.add(moments.first(std::min(taken, moments.size())));
        moments = moments.subspan(std::min(taken, moments.size()));
        if (state.encoder.full())
            state.write_block();
    }
    state.digest.add(buffer);
    state.event_count += buffer.size();
    if (state.batch_bytes >= kBatchBytes || state.since_commit.seconds() >= kBatchSeconds)
        sync();
}

std::uint64_t TraceWriter::event_count() const
{
    return state_->event_count;
}

void TraceWriter::sync()
{
    // The digests and markers of a batch reach to its last event, so its last block is cut here.
    state_->write_block();
    state_->commit(RecordingState::running, "");
}

void TraceWriter::leave_prepared()
{
    CHECK(state_->event_count == 0, "a prepared trace has no events");
    state_->commit(RecordingState::prepared, "");
    state_->closed = true;
}

void TraceWriter::finish(RecordingState state, std::string_view outcome)
{
    CHECK(state == RecordingState::complete || state == RecordingState::truncated,
          "a recording ends complete or truncated");
    sync();
    state_->database.execute("PRAGMA synchronous = FULL");
    state_->commit(state, outcome);
    state_->closed = true;
}

} // namespace fencepost::trace
