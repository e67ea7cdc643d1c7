// SPDX-License-Identifier: GPL-2.0-or-later
// Every crash image once, with all the states that it comes from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "replayer/image/line_hash.h"
#include "trace/database.h"

namespace fencepost::image {

// Images and origins are rows of an SQLite database: a temporary one, a file that a later run goes
// on with, or tables that are somebody else's. Identities are looked up in memory up to a budget,
// beyond it in the database.
class ImageIndex {
public:
    static constexpr std::size_t kDefaultBudget = 256 << 20;

    // `trace` and `options` say what the states mean: a file made for others is an Error(usage).
    struct File {
        std::filesystem::path path;
        std::string trace;
        std::string options;
    };

    explicit ImageIndex(std::size_t memory_budget = kDefaultBudget);
    explicit ImageIndex(const File &file, std::size_t memory_budget = kDefaultBudget);
    // Borrowed: it has tables `image` (number, identity, expectation, unique by the last two) and
    // `origin` (image, seq, state, architectural), and its owner commits. `if_damaged`: what its
    // user is to do then.
    ImageIndex(trace::Database &database, std::string if_damaged,
               std::size_t memory_budget = kDefaultBudget);
    ~ImageIndex(); // what was not committed is lost

    // A state that gave an image.
    struct Origin {
        std::uint64_t seq = 0; // the event before which power fails
        std::string_view id;   // of the state
        bool architectural = true;
    };
    struct Added {
        std::uint64_t image = 0; // from 1, in the order in which they were first seen
        bool is_new = false;
    };
    // Equal identities are one image as long as the same may be expected of them.
    Added add(const Hash128 &identity, std::uint64_t expectation, const Origin &origin);
    void commit();

    std::uint64_t images() const { return images_; }
    std::uint64_t origins() const { return origins_; }
    // How many identities are found only in the database.
    std::uint64_t spilled() const { return spilled_; }
    // In the order in which they were added. Not of borrowed tables.
    void for_each_origin(std::uint64_t image, const std::function<void(const Origin &)> &visit);

private:
    struct Key {
        Hash128 identity;
        std::uint64_t expectation = 0;

        bool operator==(const Key &) const = default;
        std::uint64_t place() const;
    };
    struct Slot {
        Key key;
        std::uint64_t image = 0; // 0 = free
    };

    void set_budget(std::size_t memory_budget);
    void create_tables();
    void prepare();
    void load();
    std::uint64_t find(const Key &key);
    void remember(const Key &key, std::uint64_t image);

    std::optional<trace::Database> own_;
    trace::Database &database_;
    bool temporary_ = false;
    std::string if_damaged_;
    std::optional<trace::Statement> add_image_;
    std::optional<trace::Statement> add_origin_;
    std::optional<trace::Statement> find_image_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::size_t most_slots_ = 0;
    std::uint64_t images_ = 0;
    std::uint64_t origins_ = 0;
    std::uint64_t spilled_ = 0;
    std::uint64_t uncommitted_ = 0;
};

} // namespace fencepost::image
