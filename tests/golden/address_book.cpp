// SPDX-License-Identifier: GPL-2.0-or-later
// See address_book.h.
#include "tests/golden/address_book.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

namespace fencepost::golden {

using namespace trace;

const std::vector<Region> &AddressBook::regions()
{
    if (regions_.empty())
        add_region({.id = 1, .name = "pmem0", .base = 4ull << 30, .size = 2 << 20});
    return regions_;
}

void AddressBook::add_region(Region region)
{
    region.file = region.name;
    names_[region.name] = region.base;
    images_.emplace_back(region.size);
    regions_.push_back(std::move(region));
}

void AddressBook::declare_region(LineTokens &line)
{
    Region region = {.id = static_cast<RegionId>(regions_.size() + 1), .name = line.word("a name")};
    region.base = line.number("the base");
    region.size = line.number("the size");
    if (region.base % 4096 || region.size % 4096 || region.size < 4096 || region.size > 64 << 20)
        line.fail_here("base and size are multiples of 4096, and a region has at most 64M");
    if (names_.contains(region.name))
        line.fail_here(fmt::format("the name '{}' is taken", region.name));
    add_region(std::move(region));
}

void AddressBook::declare_name(LineTokens &line)
{
    const std::string name = line.word("a name");
    if (names_.contains(name))
        line.fail_here(fmt::format("the name '{}' is taken", name));
    line.expect("=");
    const std::uint64_t at = address(line);
    names_[name] = at;
}

void AddressBook::set_initial(LineTokens &line)
{
    const std::uint64_t at = address(line);
    const std::uint64_t size = line.number("the size");
    if (size < 1 || size > 1 << 20)
        line.fail_here("the size is 1 to 1M bytes");
    const Region &region = region_of(at, size, line);
    const std::vector<std::byte> bytes = bytes_of(size, line);
    std::ranges::copy(bytes, images_[region.id - 1].begin() +
                                 static_cast<std::ptrdiff_t>(at - region.base));
}

std::uint64_t AddressBook::address(LineTokens &line)
{
    const std::string text = line.word("an address");
    if (const auto number = parse_number(text))
        return *number;
    regions();
    const std::size_t plus = text.find('+');
    const auto known = names_.find(text.substr(0, plus));
    const auto offset = plus == text.npos ? 0 : parse_number(text.substr(plus + 1));
    if (known == names_.end() || !offset)
        line.fail_here(fmt::format("'{}' is no address: a number, a region or a name of 'let',"
                                   " perhaps with +NUMBER",
                                   text));
    return known->second + *offset;
}

const Region &AddressBook::region_of(std::uint64_t at, std::uint64_t size, const LineTokens &line)
{
    for (const Region &region : regions())
        if (region.contains(at) && region.contains(at + size - 1))
            return region;
    line.fail_here(fmt::format("0x{:x} and {} bytes are not in one region", at, size));
}

std::vector<std::byte> bytes_of(std::size_t size, LineTokens &line)
{
    std::vector<std::byte> bytes(size);
    const auto fits = [&](bool holds) {
        if (!holds)
            line.fail_here(fmt::format("this does not fit into {} bytes", size));
    };
    line.expect("=");
    if (const auto text = line.take_string()) {
        fits(text->size() <= size);
        std::ranges::copy(std::as_bytes(std::span(*text)), bytes.begin());
    } else if (const auto repeated = line.take_prefixed('*')) {
        const auto byte = parse_number(*repeated);
        if (!byte || *byte > 255)
            line.fail_here("what is repeated is one byte");
        std::ranges::fill(bytes, static_cast<std::byte>(*byte));
    } else {
        const std::string word = line.word("the value");
        if (word.starts_with("hex:")) {
            fits(word.size() == 4 + 2 * size);
            for (std::size_t i = 0; i < size; ++i) {
                const auto byte = parse_number("0x" + word.substr(4 + 2 * i, 2));
                if (!byte)
                    line.fail_here("hex: takes two hexadecimal digits a byte");
                bytes[i] = static_cast<std::byte>(*byte);
            }
            return bytes;
        }
        const auto number = parse_number(word);
        if (!number)
            line.fail_here("a value is a number, a \"text\", *BYTE or hex:DIGITS");
        fits(size <= 8 && (size == 8 || *number >> 8 * size == 0));
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = static_cast<std::byte>(*number >> 8 * i);
    }
    return bytes;
}

} // namespace fencepost::golden
