// SPDX-License-Identifier: GPL-2.0-or-later
// See image_index.h.
#include "replayer/image/image_index.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fencepost::image {

namespace {

constexpr int kOpen = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
constexpr int kApplicationId = 0x46504f49; // "FPOI"
constexpr std::size_t kFewestSlots = 1024;
constexpr std::uint64_t kBatch = 100000; // rows a transaction

std::array<std::byte, 16> blob_of(const Hash128 &hash)
{
    std::array<std::byte, 16> bytes;
    std::memcpy(bytes.data(), &hash.low, 8);
    std::memcpy(bytes.data() + 8, &hash.high, 8);
    return bytes;
}

} // namespace

// An empty name is a temporary database: in memory while it is small, then in a file without a
// name.
ImageIndex::ImageIndex(std::size_t memory_budget) : database_("", kOpen), temporary_(true)
{
    database_.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    prepare(memory_budget);
}

ImageIndex::ImageIndex(const File &file, std::size_t memory_budget)
    : database_(file.path, kOpen, trace::FileKind::image_index), temporary_(false)
{
    if (database_.integer("SELECT count(*) FROM sqlite_schema") == 0)
        database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    else if (database_.integer("PRAGMA application_id") != kApplicationId)
        fail(ErrorKind::usage, "{} is not an index of images: it is another SQLite file",
             file.path.string());
    prepare(memory_budget);
    trace::Statement about(database_.get(), "SELECT trace, options FROM about");
    if (!about.step()) {
        trace::Statement(database_.get(), "INSERT INTO about VALUES (?, ?)")
            .bind(1, std::string_view(file.trace))
            .bind(2, std::string_view(file.options))
            .run();
    } else if (about.text(0) != file.trace || about.text(1) != file.options) {
        fail(ErrorKind::usage, "{} holds the images of another trace or of other options",
             file.path.string());
    }
    load();
}

ImageIndex::~ImageIndex() = default;

void ImageIndex::prepare(std::size_t memory_budget)
{
    // Slots stay half empty; SQLite's cache has its share of the budget.
    const std::size_t slots = memory_budget / 2 / sizeof(Slot);
    most_slots_ = std::max(kFewestSlots, std::bit_floor(slots));
    slots_.resize(kFewestSlots);
    database_.execute(
        "PRAGMA cache_size = -" +
        std::to_string(std::max<std::size_t>(memory_budget / 4096, 1024)) +
        "; CREATE TABLE IF NOT EXISTS about (trace TEXT NOT NULL, options TEXT NOT NULL);"
        "CREATE TABLE IF NOT EXISTS image (number INTEGER PRIMARY KEY, identity BLOB NOT NULL);"
        "CREATE TABLE IF NOT EXISTS origin (image INTEGER NOT NULL, seq INTEGER NOT NULL, "
        "choice TEXT NOT NULL)");
    add_image_.emplace(database_.get(), "INSERT INTO image VALUES (?, ?)");
    add_origin_.emplace(database_.get(), "INSERT INTO origin VALUES (?, ?, ?)");
    database_.execute("BEGIN");
}

void ImageIndex::load()
{
    trace::Statement all(database_.get(), "SELECT number, identity FROM image ORDER BY number");
    while (all.step()) {
        const std::span<const std::byte> bytes = all.blob(1);
        if (bytes.size() != 16 || all.number(0) != images_ + 1)
            fail(ErrorKind::usage,
                 "{} is damaged: its images are not numbered as they were; remove it or name "
                 "another file",
                 trace::file_of(database_.get()));
        Hash128 hash;
        std::memcpy(&hash.low, bytes.data(), 8);
        std::memcpy(&hash.high, bytes.data() + 8, 8);
        remember(hash, ++images_);
    }
    origins_ = static_cast<std::uint64_t>(database_.integer("SELECT count(*) FROM origin"));
}

void ImageIndex::remember(const Hash128 &hash, std::uint64_t image)
{
    if ((used_ + 1) * 2 > slots_.size()) {
        if (slots_.size() >= most_slots_) {
            if (spilled_++ == 0) {
                database_.execute("CREATE INDEX IF NOT EXISTS image_identity ON image (identity)");
                find_image_.emplace(database_.get(), "SELECT number FROM image WHERE identity = ?");
            }
            return;
        }
        const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
        used_ = 0;
        for (const Slot &slot : old)
            if (slot.image != 0)
                remember(slot.hash, slot.image);
    }
    std::size_t at = hash.low & (slots_.size() - 1);
    while (slots_[at].image != 0)
        at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, image};
    ++used_;
}

std::uint64_t ImageIndex::find(const Hash128 &hash)
{
    for (std::size_t at = hash.low & (slots_.size() - 1); slots_[at].image != 0;
         at = (at + 1) & (slots_.size() - 1))
        if (slots_[at].hash == hash)
            return slots_[at].image;
    if (spilled_ == 0)
        return 0;
    const auto blob = blob_of(hash);
    find_image_->bind(1, std::span<const std::byte>(blob));
    const std::uint64_t image = find_image_->step() ? find_image_->number(0) : 0;
    find_image_->reset();
    return image;
}

ImageIndex::Added ImageIndex::add(const Hash128 &hash, std::uint64_t seq, std::string_view choice)
{
    Added added = {find(hash), false};
    if (added.image == 0) {
        added = {++images_, true};
        const auto blob = blob_of(hash);
        add_image_->bind(1, added.image).bind(2, std::span<const std::byte>(blob)).run();
        remember(hash, added.image);
    }
    add_origin_->bind(1, added.image).bind(2, seq).bind(3, choice).run();
    ++origins_;
    if (++uncommitted_ >= kBatch && !temporary_)
        commit();
    return added;
}

void ImageIndex::commit()
{
    database_.execute("COMMIT; BEGIN");
    uncommitted_ = 0;
}

void ImageIndex::for_each_origin(std::uint64_t image,
                                 const std::function<void(std::uint64_t, std::string_view)> &visit)
{
    database_.execute("CREATE INDEX IF NOT EXISTS origin_image ON origin (image)");
    trace::Statement rows(database_.get(),
                          "SELECT seq, choice FROM origin WHERE image = ? ORDER BY rowid");
    rows.bind(1, image);
    while (rows.step())
        visit(rows.number(0), rows.text(1));
}

} // namespace fencepost::image
