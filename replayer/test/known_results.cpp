// SPDX-License-Identifier: GPL-2.0-or-later
// See known_results.h.
#include "replayer/test/known_results.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "analyzer/findings/find.h"
#include "base/error.h"
#include "base/json.h"
#include "replayer/test/finding_rows.h"
#include "replayer/test/results.h"

namespace fencepost::test {

namespace {

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
    : database_(open_results(require_results(files), event_digest))
{
}

std::vector<findings::Finding> KnownResults::findings()
{
    return finding_rows(database_);
}

findings::Finding KnownResults::finding(const std::string &id)
{
    return findings::find(findings(), id);
}

std::vector<std::string> KnownResults::oracles()
{
    std::vector<std::string> names;
    std::istringstream text(oracle_list());
    for (std::string name; std::getline(text, name, ',');)
        names.push_back(name);
    return names;
}

std::string KnownResults::oracle_list()
{
    return about(database_, "oracles");
}

std::optional<Baseline> KnownResults::baseline()
{
    return kept_baseline(database_);
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
