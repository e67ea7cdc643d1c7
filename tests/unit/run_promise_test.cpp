// SPDX-License-Identifier: GPL-2.0-or-later
// Promises: presets, fields, the table of defaults, and its page in the reference.
#include "replayer/run/promise.h"

#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace fencepost::run {
namespace {

ChosenPromise chosen(const char *type, const char *options, const PromiseSpec &spec = {})
{
    return choose_promise(type, options, spec);
}

TEST(Promises, ComeFromTypeAndMountOptions)
{
    const auto name = [](const char *type, const char *options) {
        return chosen(type, options).name;
    };
    EXPECT_EQ(name("NOVA", ""), "sync");
    EXPECT_EQ(name("NOVA", "init,data_cow"), "strict");
    EXPECT_EQ(name("NOVA", "data_cowardly"), "sync");
    EXPECT_EQ(name("winefs", "strict"), "strict");
    EXPECT_EQ(name("winefs", "dax"), "sync");
    EXPECT_EQ(name("pmfs", "data=writeback"), "sync") << "options that are not its own";
    EXPECT_EQ(name("ext4", "dax"), "fsync");
    EXPECT_EQ(name("ext4", "noatime,dax=always"), "fsync");
    EXPECT_EQ(name("ext4", "dax,data=writeback"), "fsync");
    EXPECT_EQ(name("ext4", "dax,sync"), "fsync") << "the observed writes are synced";
    EXPECT_EQ(name("ext4", "dax=never"), "fsync with sizes_lag = true");
    EXPECT_EQ(name("ext4", "data=ordered"), "fsync with sizes_lag = true");
    EXPECT_EQ(name("ext4", "data=writeback"), "fsync with bytes = any, sizes_lag = true");
    EXPECT_EQ(name("xfs", ""), "fsync with sizes_lag = true");
    EXPECT_EQ(name("xfs", "dax"), "fsync");
}

TEST(Promises, SayWhereTheyComeFrom)
{
    EXPECT_EQ(chosen("NOVA", "data_cow").source, "default for NOVA, nova with data_cow");
    EXPECT_EQ(chosen("otherfs", "dax").source,
              "default for any other file system with dax or dax=always: nothing is known about "
              "otherfs; if it promises more, say so with test.promise");
    EXPECT_EQ(chosen("NOVA", "", {"strict", {}}).source, "spec");
    EXPECT_EQ(chosen("NOVA", "", {"", {{"bytes", "any"}}}).source,
              "spec, on top of the default for NOVA, nova");
}

TEST(Promises, TheSpecWins)
{
    EXPECT_EQ(chosen("ext4", "dax", {"strict", {}}).promise, kStrict);
    EXPECT_EQ(chosen("ext4", "", {"sync", {}}).promise, kSync) << "sizes do not lag then";
    const ChosenPromise mixed = chosen("ext4", "dax", {"sync", {{"tree", "prefix"}}});
    EXPECT_EQ(mixed.name, "sync with tree = prefix");
    EXPECT_EQ(mixed.promise.durable, Durability::on_return);
    EXPECT_EQ(chosen("NOVA", "", {"", {{"size_covers_appends", "false"}}}).name,
              "sync with size_covers_appends = false");
}

TEST(Promises, EveryFieldKeepsItsValue)
{
    for (const PromiseField &field : promise_fields())
        for (const std::string &value : field.values) {
            Promise promise;
            set_field(promise, field.name, value);
            EXPECT_EQ(field_value(promise, field.name), value) << field.name;
            EXPECT_FALSE(describe(promise).empty());
        }
    for (const std::string &name : preset_names())
        EXPECT_EQ(name_of(find_preset(name).value()), name);
    EXPECT_FALSE(find_preset("magic"));
}

// A row of the table as the page has it.
std::string page_row(const PromiseRow &row)
{
    const auto code = [](const std::vector<std::string> &words, const char *none) {
        std::string text;
        for (const std::string &word : words)
            text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word);
        return text.empty() ? std::string(none) : text;
    };
    return fmt::format("| {} | {} | `{}` | {} |", code(row.file_systems, "any other"),
                       code(row.with, "whatever else"), name_of(row.promise), row.why);
}

TEST(Promises, TheReferenceHasTheTable)
{
    const std::ifstream file(FENCEPOST_SOURCE "/docs/reference/promises.md");
    std::stringstream page;
    page << file.rdbuf();
    std::size_t at = 0;
    for (const PromiseRow &row : promise_table()) {
        const std::size_t found = page.str().find(page_row(row), at);
        EXPECT_NE(found, std::string::npos) << "missing, or not in this order:\n" << page_row(row);
        at = found == std::string::npos ? at : found;
    }
    for (const PromiseField &field : promise_fields()) {
        std::string values;
        for (const std::string &value : field.values)
            values += fmt::format("{}`{}`", values.empty() ? "" : ", ", value);
        const std::string start = fmt::format("| `{}` | {} |", field.name, values);
        EXPECT_NE(page.str().find(start), std::string::npos) << start;
    }
    for (const std::string &name : preset_names()) {
        std::string row = fmt::format("| `{}` |", name);
        for (const PromiseField &field : promise_fields())
            row += fmt::format(" `{}` |", field_value(find_preset(name).value(), field.name));
        EXPECT_NE(page.str().find(row), std::string::npos) << row;
    }
}

} // namespace
} // namespace fencepost::run
