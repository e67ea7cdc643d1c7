// SPDX-License-Identifier: GPL-2.0-or-later
// See image.h.
#include "trace/image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/fd.h"
#include "trace/compression.h"

namespace fencepost::trace {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kChunkPages = kChunk / kPage;
// Images are stored once and read seldom; level 3 is the better half of fast.
constexpr int kLevel = 3;

bool is_zero(std::span<const std::byte> bytes)
{
    return bytes.empty() || (bytes[0] == std::byte{0} &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Calls visit(offset, chunk) for every chunk in ascending order; the last may be short.
template <typename Visit> void visit_chunks(std::span<const std::byte> bytes, Visit &&visit)
{
    for (std::size_t at = 0; at < bytes.size(); at += kChunk)
        visit(at, bytes.subspan(at, std::min(kChunk, bytes.size() - at)));
}

// The same for a region in a file, leaving out chunks that are holes.
template <typename Visit>
void visit_chunks(const Region &region, const fs::path &file, Visit &&visit)
{
    const Fd fd = open_file(file, O_RDONLY);
    std::vector<std::byte> chunk(kChunk);
    for (std::uint64_t at = 0; at < region.size; at += kChunk) {
        const off_t data = lseek(fd.get(), static_cast<off_t>(region.file_offset + at), SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return; // only a hole is left
        if (data < 0)
            fail_errno(fmt::format("cannot read {}", file.string()));
        const std::uint64_t skipped =
            (static_cast<std::uint64_t>(data) - region.file_offset) / kChunk * kChunk;
        at = std::max(at, skipped);
        if (at >= region.size)
            return;
        const std::size_t size =
            static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, region.size - at));
        for (std::size_t done = 0; done < size;) {
            const ssize_t got = pread(fd.get(), chunk.data() + done, size - done,
                                      static_cast<off_t>(region.file_offset + at + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                fail_errno(fmt::format("cannot read {}", file.string()));
            if (got == 0)
                fail(ErrorKind::io, "{} is shorter than region {} needs", file.string(),
                     region.name);
            done += static_cast<std::size_t>(got);
        }
        visit(at, std::span<const std::byte>(chunk).first(size));
    }
}

// Non-zero pages with their offsets, then the size: what is not hashed is known to be zero.
class ImageDigest {
public:
    void add_page(std::uint64_t offset, std::span<const std::byte> page)
    {
        digest_.add_bytes(std::as_bytes(std::span(&offset, 1))).add_bytes(page);
    }
    void add_chunk(std::uint64_t offset, std::span<const std::byte> chunk)
    {
        for (std::size_t at = 0; at < chunk.size(); at += kPage) {
            const auto page = chunk.subspan(at, std::min(kPage, chunk.size() - at));
            if (!is_zero(page))
                add_page(offset + at, page);
        }
    }
    std::string hex(std::uint64_t size)
    {
        return digest_.add_bytes(std::as_bytes(std::span(&size, 1))).hex();
    }

private:
    Digest digest_;
};

class ImageStore {
public:
    ImageStore(sqlite3 *database, const Region &region)
        : database_(database), region_(region), compressor_(kLevel),
          insert_(database, "INSERT INTO initial_image VALUES (?1,?2,?3,?4,?5)")
    {
        Statement(database, "DELETE FROM initial_image WHERE region = ?1")
            .bind(1, std::uint64_t{region.id})
            .run();
    }

    void add_chunk(std::uint64_t offset, std::span<const std::byte> chunk)
    {
        std::array<std::byte, kChunkPages / 8> pages = {};
        stored_.clear();
        for (std::size_t page = 0; page * kPage < chunk.size(); ++page) {
            const auto bytes =
                chunk.subspan(page * kPage, std::min(kPage, chunk.size() - page * kPage));
            if (is_zero(bytes))
                continue;
            pages[page / 8] |= static_cast<std::byte>(1u << page % 8);
            stored_.insert(stored_.end(), bytes.begin(), bytes.end());
            digest_.add_page(offset + page * kPage, bytes);
        }
        if (stored_.empty())
            return;
        const std::string digest = Digest().add_bytes(stored_).hex();
        const std::vector<std::byte> data = compressor_.compress(stored_);
        insert_.bind(1, std::uint64_t{region_.id})
            .bind(2, offset)
            .bind(3, pages)
            .bind(4, std::string_view(digest))
            .bind(5, data)
            .run();
    }

    void finish()
    {
        Statement(database_, "UPDATE region SET initial_digest = ?2 WHERE id = ?1")
            .bind(1, std::uint64_t{region_.id})
            .bind(2, std::string_view(digest_.hex(region_.size)))
            .run();
        CHECK(sqlite3_changes(database_) == 1,
              "an initial image of a region that is not in the trace");
    }

private:
    sqlite3 *database_;
    const Region &region_;
    Compressor compressor_;
    Statement insert_;
    ImageDigest digest_;
    std::vector<std::byte> stored_;
};

// Puts one row's pages in their place.
void unpack_chunk(std::span<std::byte> chunk, std::span<const std::byte> pages,
                  std::span<const std::byte> stored)
{
    if (pages.size() != kChunkPages / 8)
        fail(ErrorKind::trace, "its page map has {} bytes", pages.size());
    for (std::size_t page = 0; page < kChunkPages; ++page) {
        if ((pages[page / 8] >> static_cast<int>(page % 8) & std::byte{1}) == std::byte{0})
            continue;
        if (page * kPage >= chunk.size())
            fail(ErrorKind::trace, "it reaches past the end of the region");
        const std::size_t size = std::min(kPage, chunk.size() - page * kPage);
        if (stored.size() < size)
            fail(ErrorKind::trace, "it has fewer pages than its page map");
        std::memcpy(chunk.data() + page * kPage, stored.data(), size);
        stored = stored.subspan(size);
    }
    if (!stored.empty())
        fail(ErrorKind::trace, "it has more pages than its page map");
}

} // namespace

std::string image_digest(std::span<const std::byte> bytes)
{
    ImageDigest digest;
    visit_chunks(bytes, [&](std::uint64_t at, auto chunk) { digest.add_chunk(at, chunk); });
    return digest.hex(bytes.size());
}

std::string image_digest(const Region &region, const fs::path &file)
{
    ImageDigest digest;
    visit_chunks(region, file, [&](std::uint64_t at, auto chunk) { digest.add_chunk(at, chunk); });
    return digest.hex(region.size);
}

void store_region(sqlite3 *database, const Region &region)
{
    Statement insert(database, "INSERT OR REPLACE INTO region VALUES (?1,?2,?3,?4,?5,?6,?7,?8)");
    insert.bind(1, std::uint64_t{region.id})
        .bind(2, std::string_view(region.name))
        .bind(3, region.base)
        .bind(4, region.size)
        .bind(5, std::string_view(region.file))
        .bind(6, region.file_offset);
    if (region.initial_digest)
        insert.bind(7, std::string_view(*region.initial_digest));
    if (region.final_digest)
        insert.bind(8, std::string_view(*region.final_digest));
    insert.run();
}

void store_initial_image(sqlite3 *database, const Region &region, std::span<const std::byte> bytes)
{
    CHECK(bytes.size() == region.size, "an initial image of another size than its region");
    ImageStore store(database, region);
    visit_chunks(bytes, [&](std::uint64_t at, auto chunk) { store.add_chunk(at, chunk); });
    store.finish();
}

void store_initial_image(sqlite3 *database, const Region &region, const fs::path &file)
{
    ImageStore store(database, region);
    visit_chunks(region, file, [&](std::uint64_t at, auto chunk) { store.add_chunk(at, chunk); });
    store.finish();
}

void load_initial_image(sqlite3 *database, const Region &region, std::span<std::byte> bytes)
{
    CHECK(bytes.size() == region.size, "room of another size than the region");
    Statement chunks(database,
                     "SELECT offset, pages, digest, data FROM initial_image WHERE region = ?1"
                     " ORDER BY offset");
    chunks.bind(1, std::uint64_t{region.id});
    Decompressor decompressor;
    std::vector<std::byte> buffer;
    while (chunks.step()) {
        const std::uint64_t offset = chunks.number(0);
        try {
            if (offset >= bytes.size() || offset % kChunk)
                fail(ErrorKind::trace, "it is outside the region");
            const auto stored = decompressor.decompress(chunks.blob(3), kChunk, buffer);
            if (Digest().add_bytes(stored).hex() != chunks.text(2))
                fail(ErrorKind::trace, "its digest does not match");
            unpack_chunk(
                bytes.subspan(offset, std::min<std::size_t>(kChunk, bytes.size() - offset)),
                chunks.blob(1), stored);
        } catch (const Error &error) {
            fail(ErrorKind::trace,
                 "the initial image of region {} at offset {} in {} is damaged: {}", region.name,
                 offset, file_of(database), error.what());
        }
    }
}

} // namespace fencepost::trace
