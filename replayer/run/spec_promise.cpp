// SPDX-License-Identifier: GPL-2.0-or-later
// See spec_promise.h.
#include "replayer/run/spec_promise.h"

#include <algorithm>

namespace fencepost::run {

namespace {

std::string quoted_list(const std::vector<std::string> &values, const char *quote)
{
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i)
        text += fmt::format("{}{}{}{}",
                            i == 0                   ? ""
                            : i + 1 == values.size() ? " or "
                                                     : ", ",
                            quote, values[i], quote);
    return text;
}

std::string read_preset(const TableReader &reader, const std::string &field,
                        const std::string &full)
{
    const std::string name = reader.text(field).value_or("");
    if (!find_preset(name))
        reader.refuse(field, "{} is {}, not \"{}\"", full, quoted_list(run::preset_names(), "\""),
                      name);
    return name;
}

std::string read_value(const TableReader &reader, const PromiseField &field)
{
    if (field.values.front() == "true")
        return reader.flag(field.name).value_or(false) ? "true" : "false";
    const std::string value = reader.text(field.name).value_or("");
    if (std::find(field.values.begin(), field.values.end(), value) == field.values.end())
        reader.refuse(field.name, "test.promise.{} is {}, not \"{}\"", field.name,
                      quoted_list(field.values, "\""), value);
    return value;
}

} // namespace

PromiseSpec read_promise(const TableReader &test)
{
    if (test.has("semantics"))
        test.refuse("semantics",
                    "test.semantics is called test.promise: \"strict\" for what was \"sync\" "
                    "(durable on return, all of it atomic), \"sync\" where bytes of a write in "
                    "progress may be old or new, \"fsync\" as before");
    PromiseSpec promise;
    if (!test.has("promise"))
        return promise;
    std::vector<std::string> known = {"preset"};
    for (const PromiseField &field : run::promise_fields())
        known.push_back(field.name);
    const std::optional<TableReader> table = test.table("promise", known);
    if (!table) {
        promise.preset = read_preset(test, "promise", "test.promise");
        return promise;
    }
    if (table->has("preset"))
        promise.preset = read_preset(*table, "preset", "test.promise.preset");
    for (const PromiseField &field : run::promise_fields())
        if (table->has(field.name))
            promise.fields[field.name] = read_value(*table, field);
    return promise;
}

} // namespace fencepost::run
