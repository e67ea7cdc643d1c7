// SPDX-License-Identifier: GPL-2.0-or-later
// See json.h.
#include "base/json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fencepost {

using nlohmann::json;

namespace {

bool has_discarded(const json &value)
{
    return value.is_discarded() ||
           (value.is_structured() && std::any_of(value.begin(), value.end(), has_discarded));
}

void forget_discarded(json &value)
{
    if (value.is_discarded())
        value = nullptr;
    else if (value.is_structured())
        std::for_each(value.begin(), value.end(), forget_discarded);
}

std::string text_of(const json &value, int indent, BadUtf8 bad)
{
    if (has_discarded(value)) { // would be printed as <discarded>, which is no JSON
        json printable = value;
        forget_discarded(printable);
        return text_of(printable, indent, bad);
    }
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
