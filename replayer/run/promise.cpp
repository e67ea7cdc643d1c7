// SPDX-License-Identifier: GPL-2.0-or-later
// See promise.h.
#include "replayer/run/promise.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/error.h"

namespace fencepost::run {

namespace {

struct Preset {
    const char *name;
    Promise promise;
};

constexpr std::array kPresets = {Preset{"strict", kStrict}, Preset{"sync", kSync},
                                 Preset{"fsync", kFsync}};

std::string joined(const std::vector<std::string> &words, const char *between)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : between) + word;
    return text;
}

const char *text_of(bool flag)
{
    return flag ? "true" : "false";
}

std::vector<std::string> differing_fields(const Promise &a, const Promise &b)
{
    std::vector<std::string> fields;
    for (const PromiseField &field : promise_fields())
        if (field_value(a, field.name) != field_value(b, field.name))
            fields.push_back(fmt::format("{} = {}", field.name, field_value(a, field.name)));
    return fields;
}

bool has_option(std::string_view options, const std::string &wanted)
{
    const std::string list = fmt::format(",{},", options);
    return list.find("," + wanted + ",") != std::string::npos;
}

bool has_one(std::string_view options, const std::vector<std::string> &wanted)
{
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const std::string &each) { return has_option(options, each); });
}

bool suits(const PromiseRow &row, std::string_view file_system, std::string_view options)
{
    const bool named = row.file_systems.empty() ||
                       std::find(row.file_systems.begin(), row.file_systems.end(), file_system) !=
                           row.file_systems.end();
    return named && (row.with.empty() || has_one(options, row.with)) &&
           !has_one(options, row.without);
}

} // namespace

std::optional<Promise> find_preset(std::string_view name)
{
    for (const Preset &preset : kPresets)
        if (preset.name == name)
            return preset.promise;
    return std::nullopt;
}

std::vector<std::string> preset_names()
{
    std::vector<std::string> names;
    for (const Preset &preset : kPresets)
        names.push_back(preset.name);
    return names;
}

const std::vector<PromiseField> &promise_fields()
{
    static const std::vector<PromiseField> kFields = {
        {"durable", {"on_return", "after_sync"}},   {"tree", {"atomic", "prefix"}},
        {"bytes", {"atomic", "old_or_new", "any"}}, {"size_covers_appends", {"true", "false"}},
        {"sizes_lag", {"true", "false"}},
    };
    return kFields;
}

const PromiseField *find_promise_field(std::string_view name)
{
    for (const PromiseField &field : promise_fields())
        if (field.name == name)
            return &field;
    return nullptr;
}

void set_field(Promise &promise, std::string_view field, std::string_view value)
{
    const PromiseField *known = find_promise_field(field);
    CHECK(known &&
              std::find(known->values.begin(), known->values.end(), value) != known->values.end(),
          "a field of a promise and one of its values");
    if (field == "durable")
        promise.durable = value == "on_return" ? Durability::on_return : Durability::after_sync;
    else if (field == "tree")
        promise.tree = value == "atomic" ? TreePromise::atomic : TreePromise::prefix;
    else if (field == "bytes")
        promise.bytes = value == "atomic"       ? BytePromise::atomic
                        : value == "old_or_new" ? BytePromise::old_or_new
                                                : BytePromise::any;
    else if (field == "size_covers_appends")
        promise.size_covers_appends = value == "true";
    else
        promise.sizes_lag = value == "true";
}

std::string field_value(const Promise &promise, std::string_view field)
{
    if (field == "durable")
        return promise.durable == Durability::on_return ? "on_return" : "after_sync";
    if (field == "tree")
        return promise.tree == TreePromise::atomic ? "atomic" : "prefix";
    if (field == "bytes")
        return promise.bytes == BytePromise::atomic       ? "atomic"
               : promise.bytes == BytePromise::old_or_new ? "old_or_new"
                                                          : "any";
    if (field == "size_covers_appends")
        return text_of(promise.size_covers_appends);
    return text_of(promise.sizes_lag);
}

std::string describe(const Promise &promise)
{
    const bool on_return = promise.durable == Durability::on_return;
    std::vector<std::string> words = {on_return ? "durable on return" : "durable after a sync",
                                      promise.tree == TreePromise::atomic
                                          ? "operations whole or not at all"
                                          : "sizes in between while an operation is not durable"};
    switch (promise.bytes) {
    case BytePromise::atomic:
        words.push_back("bytes of a write all or none");
        break;
    case BytePromise::old_or_new:
        words.push_back(fmt::format("each byte old or new until {}",
                                    on_return ? "the write returns" : "it is synced"));
        break;
    case BytePromise::any:
        words.push_back(fmt::format("bytes not checked until {}",
                                    on_return ? "the write returns" : "they are synced"));
        break;
    }
    if (promise.size_covers_appends)
        words.push_back("appended bytes there once the size says so");
    if (promise.sizes_lag)
        words.push_back("sizes may lag");
    return joined(words, ", ");
}

std::string name_of(const Promise &promise)
{
    const auto nearest =
        std::min_element(kPresets.begin(), kPresets.end(), [&](const Preset &a, const Preset &b) {
            return differing_fields(promise, a.promise).size() <
                   differing_fields(promise, b.promise).size();
        });
    const std::vector<std::string> fields = differing_fields(promise, nearest->promise);
    return fields.empty() ? nearest->name
                          : fmt::format("{} with {}", nearest->name, joined(fields, ", "));
}

std::string name_of(const PromiseRow &row)
{
    std::string name =
        row.file_systems.empty() ? "any other file system" : joined(row.file_systems, ", ");
    if (!row.with.empty())
        name += " with " + joined(row.with, " or ");
    if (!row.without.empty())
        name += " without " + joined(row.without, " and ");
    return name;
}

ChosenPromise choose_promise(std::string_view file_system, std::string_view mount_options,
                             const PromiseSpec &spec)
{
    const std::span<const PromiseRow> table = promise_table();
    const auto row = std::find_if(table.begin(), table.end(), [&](const PromiseRow &each) {
        return suits(each, file_system, mount_options);
    });
    CHECK(row != table.end(), "the table of promises ends with every other file system");
    ChosenPromise chosen = {row->promise, "", fmt::format("default for {}", name_of(*row))};
    if (row->file_systems.empty())
        chosen.source += fmt::format(
            ": nothing is known about {}; if it promises more, say so with test.promise",
            file_system);
    if (!spec.preset.empty()) {
        chosen.promise = find_preset(spec.preset).value();
        chosen.source = "spec";
    }
    for (const auto &[field, value] : spec.fields)
        set_field(chosen.promise, field, value);
    if (spec.preset.empty() && !spec.fields.empty())
        chosen.source = fmt::format("spec, on top of the default for {}", name_of(*row));
    chosen.name = name_of(chosen.promise);
    return chosen;
}

} // namespace fencepost::run
