// SPDX-License-Identifier: GPL-2.0-or-later
// See readable_name.h.
#include "analyzer/symbols/readable_name.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace fencepost::symbols {

namespace {

constexpr std::size_t kMostName = 80;     // displayed
constexpr std::size_t kMostSymbol = 4096; // read: a name comes from a file that nobody vouches for

constexpr std::string_view kOperator = "operator";
constexpr std::array<std::string_view, 5> kQualifiers = {" const", " volatile", " &&", " &",
                                                         " noexcept"};

std::string demangled(const std::string &symbol)
{
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && name ? name.get() : "";
}

// "put(int) const" -> "put". The list is the last one in parentheses.
std::string_view without_parameters(std::string_view name)
{
    for (bool cut = true; cut;) {
        cut = false;
        for (const std::string_view qualifier : kQualifiers)
            if (name.ends_with(qualifier)) {
                name.remove_suffix(qualifier.size());
                cut = true;
            }
    }
    if (!name.ends_with(')'))
        return name;
    std::size_t depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
        depth += name[i] == ')';
        if (name[i] == '(' && --depth == 0)
            return i == 0 || name.substr(0, i).ends_with("::") ? name : name.substr(0, i);
    }
    return name;
}

// "void put<int>" -> "put<int>". An operator's name may have spaces and brackets of its own.
std::string_view without_result(std::string_view name)
{
    std::size_t start = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (depth == 0 && name.substr(i).starts_with(kOperator) &&
            (i == 0 || name[i - 1] == ' ' || name[i - 1] == ':'))
            break;
        if (std::string_view("<({[").find(c) != std::string_view::npos)
            ++depth;
        else if (std::string_view(">)}]").find(c) != std::string_view::npos)
            depth -= depth != 0;
        else if (c == ' ' && depth == 0)
            start = i + 1;
    }
    return name.substr(start);
}

} // namespace

std::string readable_name(std::string_view symbol)
{
    if (!symbol.starts_with("_Z") || symbol.size() > kMostSymbol)
        return std::string(symbol);
    const std::size_t variant = std::min(symbol.find('.'), symbol.size());
    const std::string whole = demangled(std::string(symbol.substr(0, variant)));
    const std::string_view name = without_result(without_parameters(whole));
    if (name.empty())
        return std::string(symbol);
    return std::string(name) + std::string(symbol.substr(variant));
}

std::string shortened_name(std::string_view name)
{
    constexpr std::string_view kGap = "...";
    if (name.size() <= kMostName)
        return std::string(name);
    constexpr std::size_t kSide = (kMostName - kGap.size()) / 2;
    return std::string(name.substr(0, kSide)) + std::string(kGap) +
           std::string(name.substr(name.size() - kSide));
}

} // namespace fencepost::symbols
