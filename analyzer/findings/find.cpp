// SPDX-License-Identifier: GPL-2.0-or-later
// See find.h.
#include "analyzer/findings/find.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/terminal_text.h"

namespace fencepost::findings {

namespace {

constexpr std::size_t kShown = 60; // of what was typed

// Characters to insert, remove or replace.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
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

} // namespace

const Finding &find(std::span<const Finding> findings, std::string_view id)
{
    if (id.empty())
        fail(ErrorKind::usage, "the id of a finding is empty");
    const std::string typed = terminal_text(id.substr(0, kShown));
    if (findings.empty())
        fail(ErrorKind::usage, "there is no finding {}; the run has none", typed);
    const Finding *found = nullptr;
    for (const Finding &each : findings) {
        if (each.id == id)
            return each;
        if (!each.id.starts_with(id))
            continue;
        if (found)
            fail(ErrorKind::usage, "{} begins the ids of several findings, {} and {} among them",
                 typed, found->id, each.id);
        found = &each;
    }
    if (found)
        return *found;
    const auto nearest =
        std::min_element(findings.begin(), findings.end(), [&](const auto &a, const auto &b) {
            return distance(a.id, id.substr(0, kShown)) < distance(b.id, id.substr(0, kShown));
        });
    fail(ErrorKind::usage, "there is no finding {}; the nearest is {}", typed, nearest->id);
}

} // namespace fencepost::findings
