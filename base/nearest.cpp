// SPDX-License-Identifier: GPL-2.0-or-later
// See nearest.h.
#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace fencepost {

namespace {

// Of what was typed; longer words are not compared in full.
constexpr std::size_t kMostCompared = 200;

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b)
{
    a = a.substr(0, kMostCompared);
    b = b.substr(0, kMostCompared);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
            diagonal = above;
        }
    }
    return row.back();
}

std::string nearest_name(std::string_view word, std::span<const std::string> names)
{
    const auto nearest =
        std::min_element(names.begin(), names.end(), [&](const auto &a, const auto &b) {
            return edit_distance(word, a) < edit_distance(word, b);
        });
    return nearest == names.end() ? "" : *nearest;
}

std::string meant_name(std::string_view word, std::span<const std::string> names)
{
    if (word.size() > kMostCompared)
        return "";
    std::string nearest = nearest_name(word, names);
    return edit_distance(word, nearest) * 2 < std::max(word.size(), nearest.size()) ? nearest : "";
}

} // namespace fencepost
