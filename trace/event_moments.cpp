// SPDX-License-Identifier: GPL-2.0-or-later
// See event_moments.h, and docs/explanation/trace-format.md for the encoding.
#include "trace/event_moments.h"

#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "trace/block.h"
#include "trace/byte_cursor.h"

namespace fencepost::trace {

namespace {

constexpr int kCompressionLevel = 1;
constexpr std::size_t kMostTimeBytes = kMaxBlockEvents * 10; // of a varint
constexpr std::size_t kMostThreadBytes = kMaxBlockEvents * 8;

std::string digest_of(std::span<const std::byte> times, std::span<const std::byte> threads)
{
    return Digest().add_bytes(times).add_bytes(threads).hex();
}

} // namespace

MomentWriter::MomentWriter(sqlite3 *database)
    : add_row_(database, "INSERT INTO event_moment VALUES (?1,?2,?3,?4,?5)"),
      compressor_(kCompressionLevel)
{
}

void MomentWriter::add(std::span<const EventMoment> moments)
{
    moments_.insert(moments_.end(), moments.begin(), moments.end());
}

std::size_t MomentWriter::write_block(std::uint64_t first_seq)
{
    if (moments_.empty())
        return 0;
    std::vector<std::byte> times;
    std::vector<std::byte> threads;
    std::uint64_t before = 0;
    for (const EventMoment &moment : moments_)
        put_varint(times, moment.time - std::exchange(before, moment.time));
    for (std::size_t first = 0; first < moments_.size();) {
        std::size_t last = first;
        while (last < moments_.size() && moments_[last].thread == moments_[first].thread)
            ++last;
        put_varint(threads, moments_[first].thread);
        put_varint(threads, last - first);
        first = last;
    }
    const std::string digest = digest_of(times, threads);
    const std::vector<std::byte> packed_times = compressor_.compress(times);
    const std::vector<std::byte> packed_threads = compressor_.compress(threads);
    add_row_.bind(1, first_seq)
        .bind(2, std::uint64_t{moments_.size()})
        .bind(3, std::string_view(digest))
        .bind(4, packed_times)
        .bind(5, packed_threads)
        .run();
    moments_.clear();
    return packed_times.size() + packed_threads.size();
}

MomentReader::MomentReader(sqlite3 *database, const std::string &schema) : database_(database)
{
    Statement there(database, "SELECT 1 FROM " + quoted_name(schema) +
                                  ".sqlite_schema WHERE type = 'table' AND name = 'event_moment'");
    if (there.step())
        query_ = "SELECT event_count, digest, times, threads FROM " + quoted_name(schema) +
                 ".event_moment WHERE first_seq = ?1";
}

std::span<const EventMoment> MomentReader::of_block(std::uint64_t first_seq,
                                                    std::size_t event_count)
{
    if (first_seq_ == first_seq)
        return moments_;
    first_seq_.reset();
    moments_.clear();
    if (!query_.empty()) {
        Statement row(database_, query_);
        row.bind(1, first_seq);
        if (row.step()) {
            if (row.number(0) != event_count)
                fail(ErrorKind::trace, "{} is damaged: times of {} events for {} from event {} on",
                     file_of(database_), row.number(0), event_count, first_seq);
            try {
                decode(row.blob(2), row.blob(3), row.text(1), event_count);
            } catch (const Error &error) {
                if (error.kind() != ErrorKind::trace)
                    throw;
                fail(ErrorKind::trace, "{} is damaged: the times from event {} on: {}",
                     file_of(database_), first_seq, error.what());
            }
        }
    }
    first_seq_ = first_seq;
    return moments_;
}

void MomentReader::decode(std::span<const std::byte> times, std::span<const std::byte> threads,
                          std::string_view digest, std::size_t event_count)
{
    const auto raw_times = decompressor_.decompress(times, kMostTimeBytes, time_bytes_);
    const auto raw_threads = decompressor_.decompress(threads, kMostThreadBytes, thread_bytes_);
    if (digest_of(raw_times, raw_threads) != digest)
        fail(ErrorKind::trace, "they do not match their digest");
    std::vector<EventMoment> moments(event_count);
    ByteCursor steps(raw_times);
    std::uint64_t time = 0;
    for (EventMoment &moment : moments)
        moment.time = time += steps.varint();
    ByteCursor runs(raw_threads);
    for (std::size_t first = 0; first < event_count;) {
        const std::uint64_t thread = runs.varint();
        const std::uint64_t count = runs.varint();
        if (thread > UINT32_MAX || count == 0 || count > event_count - first)
            fail(ErrorKind::trace, "a run of {} events of thread {}", count, thread);
        for (const std::size_t end = first + count; first < end; ++first)
            moments[first].thread = static_cast<std::uint32_t>(thread);
    }
    if (!steps.done() || !runs.done())
        fail(ErrorKind::trace, "there are more of them than events");
    moments_ = std::move(moments);
}

} // namespace fencepost::trace
