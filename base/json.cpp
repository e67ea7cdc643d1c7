// SPDX-License-Identifier: GPL-2.0-or-later
// See json.h.
#include "base/json.h"

#include <nlohmann/json.hpp>

namespace fencepost {

using nlohmann::json;

namespace {

std::string text_of(const json &value, int indent, BadUtf8 bad)
{
    return value.dump(indent, ' ', false,
                      bad == BadUtf8::replace ? json::error_handler_t::replace
                                              : json::error_handler_t::strict);
}

} // namespace

json parse_json(std::string_view text)
{
    return json::parse(text);
}

json json_or_discarded(std::string_view text)
{
    return json::parse(text, nullptr, false);
}

std::string json_text(const json &value, BadUtf8 bad)
{
    return text_of(value, -1, bad);
}

std::string json_document(const json &value, BadUtf8 bad)
{
    return text_of(value, 2, bad) + "\n";
}

} // namespace fencepost
