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
constexpr int kVersion = 1;
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
ImageIndex::ImageIndex(std::size_t memory_budget)
    : own_(std::in_place, "", kOpen), database_(*own_), temporary_(true)
{
    database_.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    set_budget(memory_budget);
    create_tables();
    prepare();
    database_.execute("BEGIN");
}

ImageIndex::ImageIndex(const File &file, std::size_t memory_budget)
    : own_(std::in_place, file.path, kOpen, trace::FileKind::image_index), database_(*own_),
      if_damaged_("remove it or name another file")
{
    if (database_.integer("SELECT count(*) FROM sqlite_schema") == 0)
        database_.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                      kApplicationId, kVersion));
    else if (database_.integer("PRAGMA application_id") != kApplicationId)
        fail(ErrorKind::usage, "{} is not an index of images: it is another SQLite file",
             file.path.string());
    else if (database_.integer("PRAGMA user_version") != kVersion)
        fail(ErrorKind::usage, "{} was made by another version of fencepost; {}",
             file.path.string(), if_damaged_);
    set_budget(memory_budget);
    create_tables();
    prepare();
    database_.execute("BEGIN");
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

ImageIndex::ImageIndex(trace::Database &database, std::string if_damaged, std::size_t memory_budget)
    : database_(database), if_damaged_(std::move(if_damaged))
{
    set_budget(memory_budget);
    prepare();
    load();
}

ImageIndex::~ImageIndex() = default;

// Slots stay half empty; SQLite's cache has its share of the budget.
void ImageIndex::set_budget(std::size_t memory_budget)
{
    const std::size_t slots = memory_budget / 2 / sizeof(Slot);
    most_slots_ = std::max(kFewestSlots, std::bit_floor(slots));
    slots_.resize(kFewestSlots);
    if (own_)
        database_.execute("PRAGMA cache_size = -" +
                          std::to_string(std::max<std::size_t>(memory_budget / 4096, 1024)));
}

void ImageIndex::create_tables()
{
    database_.execute(
        "CREATE TABLE IF NOT EXISTS about (trace TEXT NOT NULL, options TEXT NOT NULL);"
        "CREATE TABLE IF NOT EXISTS image (number INTEGER PRIMARY KEY, identity BLOB NOT NULL, "
        "expectation INTEGER NOT NULL);"
        "CREATE TABLE IF NOT EXISTS origin (image INTEGER NOT NULL, seq INTEGER NOT NULL, "
        "state TEXT NOT NULL, architectural INTEGER NOT NULL)");
}

void ImageIndex::prepare()
{
    add_image_.emplace(database_.get(),
                       "INSERT INTO image (number, identity, expectation) VALUES (?, ?, ?)");
    add_origin_.emplace(database_.get(), "INSERT OR IGNORE INTO origin VALUES (?, ?, ?, ?)");
}

void ImageIndex::load()
{
    trace::Statement all(database_.get(),
                         "SELECT number, identity, expectation FROM image ORDER BY number");
    while (all.step()) {
        const std::span<const std::byte> bytes = all.blob(1);
        if (bytes.size() != 16 || all.number(0) != images_ + 1)
            fail(own_ ? ErrorKind::usage : ErrorKind::trace,
                 "{} is damaged: its images are not numbered as they were; {}",
                 trace::file_of(database_.get()), if_damaged_);
        Key key;
        std::memcpy(&key.identity.low, bytes.data(), 8);
        std::memcpy(&key.identity.high, bytes.data() + 8, 8);
        key.expectation = all.number(2);
        remember(key, ++images_);
    }
    origins_ = static_cast<std::uint64_t>(database_.integer("SELECT count(*) FROM origin"));
}

std::uint64_t ImageIndex::Key::place() const
{
    return identity.low ^ expectation * 0x9e3779b97f4a7c15u;
}

void ImageIndex::remember(const Key &key, std::uint64_t image)
{
    if ((used_ + 1) * 2 > slots_.size()) {
        if (slots_.size() >= most_slots_) {
            if (spilled_++ == 0) {
                if (own_)
                    database_.execute(
                        "CREATE INDEX IF NOT EXISTS image_identity ON image (identity)");
                find_image_.emplace(
                    database_.get(),
                    "SELECT number FROM image WHERE identity = ? AND expectation = ?");
            }
            return;
        }
        const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
        used_ = 0;
        for (const Slot &slot : old)
            if (slot.image != 0)
                remember(slot.key, slot.image);
    }
    std::size_t at = key.place() & (slots_.size() - 1);
    while (slots_[at].image != 0)
        at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, image};
    ++used_;
}

std::uint64_t ImageIndex::find(const Key &key)
{
    for (std::size_t at = key.place() & (slots_.size() - 1); slots_[at].image != 0;
         at = (at + 1) & (slots_.size() - 1))
        if (slots_[at].key == key)
            return slots_[at].image;
    if (spilled_ == 0)
        return 0;
    const auto blob = blob_of(key.identity);
    find_image_->bind(1, std::span<const std::byte>(blob)).bind(2, key.expectation);
    const std::uint64_t image = find_image_->step() ? find_image_->number(0) : 0;
    find_image_->reset();
    return image;
}

ImageIndex::Added ImageIndex::add(const Hash128 &identity, std::uint64_t expectation,
                                  const Origin &origin)
{
    const Key key = {identity, expectation};
    Added added = {find(key), false};
    if (added.image == 0) {
        added = {++images_, true};
        const auto blob = blob_of(identity);
        add_image_->bind(1, added.image)
            .bind(2, std::span<const std::byte>(blob))
            .bind(3, expectation)
            .run();
        remember(key, added.image);
    }
    add_origin_->bind(1, added.image)
        .bind(2, origin.seq)
        .bind(3, origin.id)
        .bind(4, std::int64_t{origin.architectural})
        .run();
    ++origins_;
    if (++uncommitted_ >= kBatch && own_ && !temporary_)
        commit();
    return added;
}

void ImageIndex::commit()
{
    database_.execute("COMMIT; BEGIN");
    uncommitted_ = 0;
}

void ImageIndex::for_each_origin(std::uint64_t image,
                                 const std::function<void(const Origin &)> &visit)
{
    database_.execute("CREATE INDEX IF NOT EXISTS origin_image ON origin (image)");
    trace::Statement rows(
        database_.get(),
        "SELECT seq, state, architectural FROM origin WHERE image = ? ORDER BY rowid");
    rows.bind(1, image);
    while (rows.step())
        visit({rows.number(0), rows.text(1), rows.integer(2) != 0});
}

} // namespace fencepost::image
