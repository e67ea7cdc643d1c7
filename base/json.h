// SPDX-License-Identifier: GPL-2.0-or-later
// JSON from and to text. Here and not where it is needed because the parser and the printer of
// json.hpp cost a compiler three seconds in each file that calls them.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace fencepost {

// Throws a nlohmann::json::exception for a text that is no JSON.
nlohmann::json parse_json(std::string_view text);
// `discarded` for a text that is no JSON: no object, no array, nothing.
nlohmann::json json_or_discarded(std::string_view text);

enum class BadUtf8 {
    replace, // what is shown to people
    refuse,  // what is read again: throws a nlohmann::json::exception
};

// In one line. What is `discarded` in it is printed as null.
std::string json_text(const nlohmann::json &value, BadUtf8 bad = BadUtf8::replace);
// Indented, for a file or stdout; ends with a newline.
std::string json_document(const nlohmann::json &value, BadUtf8 bad = BadUtf8::replace);

} // namespace fencepost
