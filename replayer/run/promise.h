// SPDX-License-Identifier: GPL-2.0-or-later
// What a file system promises to survive a crash. docs/explanation/oracles.md says what each field
// means to the judgement of a tree; the table of defaults is in promise_table.cpp.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::run {

enum class Durability {
    on_return,  // an operation that has returned survives
    after_sync, // only what fsync, sync and their kin have made durable does
};

enum class TreePromise {
    atomic, // an operation is there whole or not at all
    prefix, // of one that changes a file's size, a part may be there: any size in between
};

enum class BytePromise {
    atomic,     // the bytes of one write are all there or none is
    old_or_new, // each byte that is not durable yet is one that the file had before or has after
    any,        // bytes that are not durable yet may be anything
};

struct Promise {
    Durability durable = Durability::after_sync;
    TreePromise tree = TreePromise::atomic;
    BytePromise bytes = BytePromise::old_or_new;
    // A size that includes appended bytes says that they are there.
    bool size_covers_appends = false;
    // Sizes of files that were not synced may lag behind the rest of the tree: delayed allocation.
    bool sizes_lag = false;

    bool operator==(const Promise &) const = default;
};

inline constexpr Promise kStrict = {Durability::on_return, TreePromise::atomic, BytePromise::atomic,
                                    true, false};
inline constexpr Promise kSync = {Durability::on_return, TreePromise::atomic,
                                  BytePromise::old_or_new, true, false};
inline constexpr Promise kFsync = {};

// As a spec says it. Field values are texts, also those of flags.
struct PromiseSpec {
    std::string preset = {};                        // empty: the file system's default
    std::map<std::string, std::string> fields = {}; // what differs from it

    bool empty() const { return preset.empty() && fields.empty(); }
    bool operator==(const PromiseSpec &) const = default;
};

// A promise that is held against a file system, and why this one.
struct ChosenPromise {
    Promise promise;
    std::string name;   // of the preset, with the fields that differ
    std::string source; // the table's row, or the spec
};

std::optional<Promise> find_preset(std::string_view name);
std::vector<std::string> preset_names();

// A field and the values that it may have.
struct PromiseField {
    std::string name;
    std::vector<std::string> values;
};
const std::vector<PromiseField> &promise_fields();
// The field of that name; nullptr: there is none.
const PromiseField *find_promise_field(std::string_view name);
// Both are known: see promise_fields().
void set_field(Promise &promise, std::string_view field, std::string_view value);
std::string field_value(const Promise &promise, std::string_view field);

// In words, for a summary: "durable on return, tree atomic, ...".
std::string describe(const Promise &promise);
// "sync", or "sync with bytes = atomic": the preset that it differs from least.
std::string name_of(const Promise &promise);

// One row of the table of defaults.
struct PromiseRow {
    std::vector<std::string> file_systems; // as for mount -t; empty: every other
    // Mount options: one of these is given, and none of those. Empty: whatever they are.
    std::vector<std::string> with;
    std::vector<std::string> without;
    Promise promise;
    std::string why;
};
std::span<const PromiseRow> promise_table();
// "NOVA with data_cow"
std::string name_of(const PromiseRow &row);

ChosenPromise choose_promise(std::string_view file_system, std::string_view mount_options,
                             const PromiseSpec &spec);

} // namespace fencepost::run
