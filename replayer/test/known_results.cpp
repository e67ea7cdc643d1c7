// SPDX-License-Identifier: GPL-2.0-or-later
// See known_results.h.
#include "replayer/test/known_results.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "replayer/test/finding_rows.h"
#include "replayer/test/results.h"

namespace fencepost::test {

namespace {

// How many characters must be changed, taken away or put in between.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

std::filesystem::path require_results(const run::RunFiles &files)
{
    if (!has_results(files))
        fail(ErrorKind::usage, "{} was not tested yet: it has no results.db (fencepost test {})",
             files.directory.string(), files.directory.string());
    return files.results();
}

} // namespace

bool has_results(const run::RunFiles &files)
{
    return files.folder().kind_of(files.results().filename().string()) != Folder::Kind::nothing;
}

KnownResults::KnownResults(const run::RunFiles &files, const std::string &event_digest)
    : database_(require_results(files), SQLITE_OPEN_READWRITE, trace::FileKind::test_results),
      run_(files.directory)
{
    check_tables(database_, files.results());
    if (about(database_, "trace") != event_digest)
        fail(ErrorKind::usage, "{} is about another recording; fencepost test {} tests this one",
             files.results().string(), run_.string());
}

std::vector<findings::Finding> KnownResults::findings()
{
    return finding_rows(database_);
}

findings::Finding KnownResults::finding(const std::string &id)
{
    std::vector<std::string> ids;
    for (findings::Finding &each : findings()) {
        if (each.id == id)
            return std::move(each);
        ids.push_back(std::move(each.id));
    }
    if (ids.empty())
        fail(ErrorKind::usage, "there is no finding '{}': tests of {} have found nothing", id,
             run_.string());
    fail(ErrorKind::usage, "there is no finding '{}' in {}; the nearest is {}", id, run_.string(),
         nearest(id, ids));
}

std::vector<std::string> KnownResults::oracles()
{
    std::vector<std::string> names;
    std::istringstream text(about(database_, "oracles"));
    for (std::string name; std::getline(text, name, ',');)
        names.push_back(name);
    return names;
}

std::optional<Baseline> KnownResults::baseline()
{
    return kept_baseline(database_);
}

std::string nearest(const std::string &word, const std::vector<std::string> &candidates)
{
    const auto found = std::min_element(candidates.begin(), candidates.end(),
                                        [&](const std::string &a, const std::string &b) {
                                            return distance(word, a) < distance(word, b);
                                        });
    return found == candidates.end() ? std::string() : *found;
}

std::optional<Baseline> kept_baseline(trace::Database &database)
{
    Baseline kept;
    const std::string images = about(database, "baseline");
    if (images.empty())
        return std::nullopt;
    for (const char *each : {kInitialImage, kFinalImage})
        if (images.find(each) != std::string::npos)
            kept.images.emplace_back(each);
    kept.missing = about(database, "baseline_missing");
    std::istringstream used(about(database, "baseline_used"));
    for (agent::SpaceUse use; used >> use.blocks >> use.inodes;)
        kept.used.push_back(use);
    trace::Statement rows(database.get(),
                          "SELECT image, oracle, verdict, summary, details FROM baseline");
    while (rows.step()) {
        oracle::Evidence evidence;
        evidence.oracle = rows.text(1);
        evidence.verdict = oracle::verdict_named(rows.text(2));
        evidence.summary = rows.text(3);
        evidence.details = oracle::Details(json_or_discarded(rows.text(4)));
        kept.objections.push_back({std::string(rows.text(0)), std::move(evidence)});
    }
    return kept;
}

} // namespace fencepost::test
