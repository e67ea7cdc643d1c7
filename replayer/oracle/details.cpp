// SPDX-License-Identifier: GPL-2.0-or-later
// See details.h.
#include "replayer/oracle/details.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace fencepost::oracle {

Details::Details() = default;

Details::Details(nlohmann::json value) : value_(std::make_unique<nlohmann::json>(std::move(value)))
{
}

Details Details::of_texts(std::initializer_list<std::pair<const char *, std::string>> texts)
{
    Details details;
    for (const auto &[key, text] : texts)
        details[key] = text;
    return details;
}

Details::Details(const Details &other)
    : value_(other.value_ ? std::make_unique<nlohmann::json>(*other.value_) : nullptr)
{
}

Details::Details(Details &&other) noexcept = default;

Details &Details::operator=(Details other) noexcept
{
    value_ = std::move(other.value_);
    return *this;
}

Details::~Details() = default;

const nlohmann::json &Details::json() const
{
    static const nlohmann::json kNull;
    return value_ ? *value_ : kNull;
}

nlohmann::json &Details::operator[](const std::string &key)
{
    if (!value_)
        value_ = std::make_unique<nlohmann::json>();
    return (*value_)[key];
}

const nlohmann::json &Details::operator[](const std::string &key) const
{
    return json().at(key);
}

bool Details::is_object() const
{
    return json().is_object();
}

bool Details::contains(const std::string &key) const
{
    return json().contains(key);
}

std::string Details::text() const
{
    return json_text(json());
}

void to_json(nlohmann::json &json, const Details &details)
{
    json = details.json();
}

} // namespace fencepost::oracle
