// SPDX-License-Identifier: GPL-2.0-or-later
// Bounds-checked writing and reading of payload fields. Both have the same members, so that one
// list of a message's fields serves either direction.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fencepost::agent {

class PayloadWriter {
public:
    template <typename Message> using Ref = const Message &;

    template <typename Number> void number(Number value)
    {
        static_assert(std::is_integral_v<Number>);
        payload_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }

    void flag(bool value) { number<std::uint8_t>(value); }

    template <typename Enum> void choice(Enum value, Enum)
    {
        number(static_cast<std::underlying_type_t<Enum>>(value));
    }

    void bytes(const std::string &value)
    {
        number(static_cast<std::uint32_t>(value.size()));
        payload_ += value;
    }

    void text(const std::string &value) { bytes(value); }

    template <typename Element, typename Visit>
    void list(const std::vector<Element> &elements, Visit visit)
    {
        number(static_cast<std::uint32_t>(elements.size()));
        for (const Element &element : elements)
            visit(element);
    }

    std::string take() { return std::move(payload_); }

private:
    std::string payload_;
};

// After the first field that does not fit, every further field is refused too; `finished()` gives
// the verdict on all of them.
class PayloadReader {
public:
    template <typename Message> using Ref = Message &;

    PayloadReader(std::string_view payload, std::uint32_t list_limit)
        : left_(payload), list_limit_(list_limit)
    {
    }

    template <typename Number> void number(Number &value)
    {
        static_assert(std::is_integral_v<Number>);
        if (!require(sizeof value))
            return;
        std::memcpy(&value, left_.data(), sizeof value);
        left_.remove_prefix(sizeof value);
    }

    void flag(bool &value)
    {
        std::uint8_t byte = 0;
        number(byte);
        good_ = good_ && byte <= 1;
        value = byte == 1;
    }

    template <typename Enum> void choice(Enum &value, Enum last)
    {
        std::underlying_type_t<Enum> raw = 0;
        number(raw);
        good_ = good_ && raw <= static_cast<std::underlying_type_t<Enum>>(last);
        if (good_)
            value = static_cast<Enum>(raw);
    }

    void bytes(std::string &value)
    {
        std::uint32_t length = 0;
        number(length);
        if (!require(length))
            return;
        value.assign(left_.substr(0, length));
        left_.remove_prefix(length);
    }

    void text(std::string &value)
    {
        bytes(value);
        good_ = good_ && value.find('\0') == std::string::npos;
    }

    template <typename Element, typename Visit>
    void list(std::vector<Element> &elements, Visit visit)
    {
        std::uint32_t count = 0;
        number(count);
        good_ = good_ && count <= list_limit_;
        elements.clear();
        // Grown one by one: a count that the bytes do not bear out costs nothing.
        for (std::uint32_t i = 0; i < count && good_; ++i)
            visit(elements.emplace_back());
    }

    void refuse() { good_ = false; }
    bool finished() const { return good_ && left_.empty(); }

private:
    bool require(std::size_t size)
    {
        good_ = good_ && left_.size() >= size;
        return good_;
    }

    std::string_view left_;
    std::uint32_t list_limit_;
    bool good_ = true;
};

} // namespace fencepost::agent
