// SPDX-License-Identifier: GPL-2.0-or-later
// See results_view.h.
#include "replayer/report/results_view.h"

#include <set>
#include <sstream>

#include "analyzer/findings/relate.h"
#include "replayer/oracle/oracle.h"
#include "replayer/test/baseline.h"
#include "replayer/test/finding_rows.h"
#include "replayer/test/results.h"

namespace fencepost::collect {

using report::TestOutcome;
using trace::Database;
using trace::Statement;

namespace {

std::string about(Database &database, std::string_view name)
{
    Statement row(database.get(), "SELECT value FROM about WHERE name = ?");
    row.bind(1, name);
    return row.step() ? std::string(row.text(0)) : "";
}

void read_sessions(Database &database, TestOutcome &outcome)
{
    Statement rows(database.get(),
                   "SELECT started, strategy, model, fences, seed, jobs, guest, "
                   "coalesce(stop, ''), cast(seconds * 1e6 AS INTEGER), generated, tested "
                   "FROM session ORDER BY number");
    while (rows.step()) {
        report::Session &session = outcome.sessions.emplace_back();
        session.started = rows.text(0);
        session.strategy = rows.text(1);
        session.model = rows.text(2);
        session.fences = rows.text(3);
        session.seed = rows.number(4);
        session.jobs = rows.number(5);
        session.guest = rows.text(6);
        session.stop = rows.text(7);
        if (!rows.is_null(8))
            session.seconds = static_cast<double>(rows.integer(8)) / 1e6;
        session.generated = rows.number(9);
        session.tested = rows.number(10);
    }
}

void read_counts(Database &database, TestOutcome &outcome)
{
    Statement counts(
        database.get(),
        "SELECT count(verdict), count(*) - count(verdict), coalesce(sum(confirmed), 0), "
        "coalesce(sum(disagreed), 0), coalesce(sum(masked > 0), 0) FROM image");
    if (counts.step()) {
        outcome.images = counts.number(0);
        outcome.without_verdict = counts.number(1);
        outcome.confirmed = counts.number(2);
        outcome.disagreed = counts.number(3);
        outcome.masked = counts.number(4);
    }
    outcome.states = static_cast<std::uint64_t>(
        database.integer("SELECT count(*) FROM origin JOIN image ON image.number = origin.image "
                         "WHERE image.verdict IS NOT NULL"));
    Statement verdicts(database.get(), "SELECT verdict, count(*) FROM image "
                                       "WHERE verdict IS NOT NULL GROUP BY verdict");
    while (verdicts.step())
        outcome.verdicts[std::string(verdicts.text(0))] = verdicts.number(1);
    Statement infra(database.get(),
                    "SELECT summary, count(DISTINCT image) AS images FROM evidence "
                    "JOIN image ON image.number = evidence.image "
                    "WHERE image.verdict = 'infra_error' AND evidence.verdict = 'infra_error' "
                    "GROUP BY summary ORDER BY images DESC, summary");
    while (infra.step())
        outcome.infra_reasons.emplace_back(infra.text(0), infra.number(1));
}

void read_healthy(Database &database, TestOutcome &outcome)
{
    std::istringstream images(about(database, "baseline"));
    for (std::string image; std::getline(images, image, ',');)
        outcome.healthy_images.push_back(image);
    outcome.healthy_missing = about(database, "baseline_missing");
    Statement rows(database.get(), "SELECT image, oracle, verdict, summary, masked FROM baseline");
    std::set<std::string> left_out;
    while (rows.step()) {
        outcome.healthy.push_back({std::string(rows.text(0)), std::string(rows.text(1)),
                                   std::string(rows.text(2)), std::string(rows.text(3)),
                                   rows.integer(4) != 0});
        const report::HealthyObjection &each = outcome.healthy.back();
        if (oracle::ends_trust({.oracle = each.oracle,
                                .verdict = oracle::verdict_named(each.verdict),
                                .summary = each.summary}))
            left_out.insert(each.oracle);
    }
    for (const std::string &oracle : left_out)
        outcome.left_out.push_back(test::why_left_out(oracle));
}

std::vector<CrashPointCount> crash_points_in(Database &database)
{
    std::vector<CrashPointCount> counts;
    Statement rows(database.get(),
                   "SELECT seq, count(*), sum(verdict NOT IN ('pass', 'infra_error')) FROM origin "
                   "JOIN image ON image.number = origin.image WHERE verdict IS NOT NULL "
                   "GROUP BY seq ORDER BY seq");
    while (rows.step())
        counts.push_back({rows.number(0), rows.number(1), rows.number(2)});
    return counts;
}

} // namespace

ResultsView read_results(const run::RunFiles &files, const trace::TraceReader &reader,
                         const symbols::CodeNames &names)
{
    ResultsView view;
    view.outcome.running = run::is_being_recorded(files);
    if (files.folder().kind_of(files.results().filename()) == Folder::Kind::nothing)
        return view;
    Database database = test::open_results(files.results(), reader.recording().event_digest);
    database.execute("BEGIN"); // everything as it is now
    view.outcome.tested = true;
    view.outcome.oracles = about(database, "oracles");
    view.has_promise = !about(database, "promise").empty();
    read_sessions(database, view.outcome);
    read_counts(database, view.outcome);
    read_healthy(database, view.outcome);
    view.crash_points = crash_points_in(database);
    view.findings = test::finding_rows(database);
    for (findings::Finding &finding : view.findings)
        findings::name_places(finding, names);
    return view;
}

} // namespace fencepost::collect
