// SPDX-License-Identifier: GPL-2.0-or-later
// A JSON value whose holders need not include its library, which costs seconds in every file that
// does. Those that look into it include nlohmann/json.hpp.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace fencepost::oracle {

class Details {
public:
    Details(); // null
    explicit Details(nlohmann::json value);
    // An object of texts.
    static Details of_texts(std::initializer_list<std::pair<const char *, std::string>> texts);
    Details(const Details &other);
    Details(Details &&other) noexcept;
    Details &operator=(Details other) noexcept;
    ~Details();

    const nlohmann::json &json() const;
    // As of JSON: null becomes an object.
    nlohmann::json &operator[](const std::string &key);
    const nlohmann::json &operator[](const std::string &key) const;

    bool is_object() const;
    bool contains(const std::string &key) const;
    // On one line; bytes that are no UTF-8 are replaced.
    std::string text() const;

private:
    std::unique_ptr<nlohmann::json> value_; // nullptr: null
};

void to_json(nlohmann::json &json, const Details &details);

} // namespace fencepost::oracle
