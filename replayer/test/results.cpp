// SPDX-License-Identifier: GPL-2.0-or-later
// See results.h.
#include "replayer/test/results.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "replayer/run/run_directory.h"
#include "replayer/test/finding_rows.h"
#include "replayer/test/known_results.h"
#include "replayer/test/known_verdicts.h"
#include "replayer/test/results_schema.h"

namespace fencepost::test {

using trace::Statement;

std::string about(trace::Database &database, std::string_view name)
{
    Statement row(database.get(), "SELECT value FROM about WHERE name = ?");
    row.bind(1, name);
    return row.step() ? std::string(row.text(0)) : "";
}

namespace {

constexpr int kOpen = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
// Milliseconds. Whoever commits keeps readers out for as long as that takes, and the other way
// round.
constexpr int kPatience = 10'000;

// Tables, indexes and views as they were made; a trigger or a view in place of a table shows.
std::string layout_of(trace::Database &database)
{
    std::string layout;
    Statement rows(database.get(), "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name");
    while (rows.step())
        for (int column = 0; column < 3; ++column)
            layout.append(rows.text(column)).append("|");
    return layout;
}

const std::string &expected_layout()
{
    static const std::string layout = [] {
        trace::Database empty(":memory:", SQLITE_OPEN_READWRITE);
        empty.execute(kResultsSchema);
        return layout_of(empty);
    }();
    return layout;
}

bool is_empty(trace::Database &database)
{
    return database.integer("PRAGMA application_id") == 0 &&
           database.integer("SELECT count(*) FROM sqlite_schema") == 0;
}

void check_layout(trace::Database &database, const std::filesystem::path &path)
{
    if (database.integer("PRAGMA application_id") != kResultsId ||
        database.integer("PRAGMA user_version") != kResultsVersion)
        fail(ErrorKind::trace,
             "{} does not hold results of this version of fencepost; fencepost test --restart "
             "forgets it and tests anew",
             path.string());
    if (layout_of(database) != expected_layout())
        fail(ErrorKind::trace,
             "{} is damaged: its tables are not those of results; fencepost test --restart forgets "
             "it and tests anew",
             path.string());
}

void check_about(trace::Database &database, const std::filesystem::path &path,
                 const ResultsSubject &subject)
{
    check_layout(database, path);
    for (Statement row(database.get(), "SELECT id, state FROM finding"); row.step();) {
        if (!run::is_finding_id(row.text(0))) // it names a folder
            fail(ErrorKind::trace,
                 "{} is damaged: a finding has an id that fencepost does not give; fencepost "
                 "test --restart forgets it and tests anew",
                 path.string());
        if (!row.text(1).empty())
            kept_state(path, row.text(1));
    }
    if (about(database, "trace") != subject.trace)
        fail(ErrorKind::usage,
             "{} is about another recording; fencepost test --restart tests this one anew",
             path.string());
    if (const std::string oracles = about(database, "oracles"); oracles != subject.oracles)
        fail(ErrorKind::usage,
             "{} holds verdicts of other oracles ({}); name these, or fencepost test --restart "
             "tests anew",
             path.string(), oracles.empty() ? "the default ones" : oracles);
}

} // namespace

void check_results(const std::filesystem::path &path, const ResultsSubject &subject)
{
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, error)))
        return;
    trace::Database database(path, SQLITE_OPEN_READWRITE, trace::FileKind::test_results);
    if (!is_empty(database))
        check_about(database, path, subject);
}

std::string changed_since(const std::filesystem::path &path, const ResultsSubject &subject)
{
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, error)))
        return "";
    trace::Database database(path, SQLITE_OPEN_READWRITE, trace::FileKind::test_results);
    if (is_empty(database))
        return "";
    check_about(database, path, subject);
    std::set<std::string> now;
    for (const Producer &each : subject.producers) {
        now.insert(each.name);
        if (about(database, each.name) != each.digest)
            return each.words;
    }
    for (Statement row(database.get(),
                       "SELECT name FROM about WHERE name GLOB 'guest *' OR name GLOB 'oracle *'");
         row.step();)
        if (!now.contains(std::string(row.text(0))))
            return "what judges";
    return "";
}

trace::Database open_results(const std::filesystem::path &path, const std::string &trace)
{
    trace::Database database(path, SQLITE_OPEN_READONLY, trace::FileKind::test_results);
    sqlite3_busy_timeout(database.get(), kPatience);
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    check_layout(database, path);
    check_about(database, path, {trace, about(database, "oracles")});
    return database;
}

Results::Results(const std::filesystem::path &path, const ResultsSubject &subject)
    : database_(path, kOpen, trace::FileKind::test_results)
{
    sqlite3_busy_timeout(database_.get(), kPatience);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // Images are looked up by identity: the index should stay in memory, but not without bound.
    database_.execute("PRAGMA cache_size = -65536; BEGIN IMMEDIATE");
    if (is_empty(database_))
        prepare(subject);
    check_about(database_, path, subject);
    index_.emplace(database_, "fencepost test --restart forgets it and tests anew");
    known_verdict_.emplace(database_.get(), "SELECT verdict, session FROM image WHERE number = ?");
    verdict_.emplace(
        database_.get(),
        "UPDATE image SET session = ?2, verdict = ?3, confirmed = ?4, disagreed = ?5, lost_guests "
        "= ?6, "
        "finding = nullif(?7, ''), judge_seconds = ?8 / 1e6, harness_seconds = ?9 / 1e6, "
        "restore_seconds = ?10 / 1e6, oracle_seconds = ?11 / 1e6, masked = ?12 WHERE number = ?1");
    evidence_.emplace(database_.get(), "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?)");
}

void Results::prepare(const ResultsSubject &subject)
{
    database_.execute(kResultsSchema);
    Statement row(database_.get(), "INSERT INTO about VALUES (?, ?)");
    row.bind(1, std::string_view("trace")).bind(2, std::string_view(subject.trace)).run();
    row.bind(1, std::string_view("oracles")).bind(2, std::string_view(subject.oracles)).run();
    for (const Producer &each : subject.producers)
        row.bind(1, std::string_view(each.name)).bind(2, std::string_view(each.digest)).run();
}

void Results::begin_session(const SessionStart &start)
{
    Statement(database_.get(),
              "INSERT INTO session (started, strategy, model, fences, seed, jobs, guest) VALUES "
              "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, ?, ?, ?, ?, ?)")
        .bind(1, std::string_view(start.strategy))
        .bind(2, std::string_view(start.model))
        .bind(3, std::string_view(start.fences))
        .bind(4, start.seed)
        .bind(5, std::uint64_t{start.jobs})
        .bind(6, std::string_view(start.guest))
        .run();
    session_ = sqlite3_last_insert_rowid(database_.get());
    commit();
}

void Results::end_session(const SessionEnd &end)
{
    Statement(database_.get(),
              "UPDATE session SET stop = ?2, seconds = ?3 / 1e6, generated = ?4, tested = ?5 "
              "WHERE number = ?1")
        .bind(1, session_)
        .bind(2, std::string_view(end.stop))
        .bind(3, static_cast<std::int64_t>(end.seconds * 1e6))
        .bind(4, end.generated)
        .bind(5, end.tested)
        .run();
    commit();
}

std::optional<Baseline> Results::baseline()
{
    return kept_baseline(database_);
}

void Results::put_baseline(const Baseline &baseline)
{
    std::string images;
    for (const std::string &image : baseline.images)
        images += (images.empty() ? "" : ",") + image;
    Statement row(database_.get(), "INSERT OR REPLACE INTO about VALUES (?, ?)");
    row.bind(1, std::string_view("baseline")).bind(2, std::string_view(images)).run();
    row.bind(1, std::string_view("baseline_missing"))
        .bind(2, std::string_view(baseline.missing))
        .run();
    std::string used;
    for (const agent::SpaceUse &each : baseline.used)
        used += std::to_string(each.blocks) + " " + std::to_string(each.inodes) + " ";
    row.bind(1, std::string_view("baseline_used")).bind(2, std::string_view(used)).run();
    Statement objection(database_.get(), "INSERT INTO baseline VALUES (?, ?, ?, ?, ?, ?)");
    for (const Objection &each : baseline.objections) {
        const std::string details = each.evidence.details.text();
        objection.bind(1, std::string_view(each.image))
            .bind(2, std::string_view(each.evidence.oracle))
            .bind(3, std::string_view(to_string(each.evidence.verdict)))
            .bind(4, std::string_view(each.evidence.summary))
            .bind(5, std::int64_t{each.masked()})
            .bind(6, std::string_view(details))
            .run();
    }
    commit();
}

Results::Seen Results::see(const image::Hash128 &identity, std::uint64_t expectation,
                           const image::ImageIndex::Origin &origin)
{
    const auto [image, is_new] = index_->add(identity, expectation, origin);
    if (is_new)
        return {image, true};
    known_verdict_->bind(1, image);
    const bool found = known_verdict_->step();
    CHECK(found, "the index has what the table has");
    const bool untested = known_verdict_->is_null(0) ||
                          (known_verdict_->text(0) == to_string(oracle::Verdict::infra_error) &&
                           known_verdict_->integer(1) != session_);
    known_verdict_->reset();
    return {image, untested};
}

void Results::put_outcome(const Outcome &outcome, std::string_view finding)
{
    const oracle::Judgement &judgement = outcome.judgement;
    const auto usec = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
    verdict_->bind(1, outcome.image)
        .bind(2, session_)
        .bind(3, std::string_view(to_string(judgement.verdict)))
        .bind(4, std::int64_t{outcome.confirmed && !outcome.disagreed})
        .bind(5, std::int64_t{outcome.disagreed})
        .bind(6, std::int64_t{outcome.lost_guests})
        .bind(7, finding)
        .bind(8, usec(outcome.judge_seconds))
        .bind(9, usec(outcome.patch_seconds))
        .bind(10, usec(outcome.restore_seconds))
        .bind(11, usec(judgement.oracle_seconds))
        .bind(12, std::int64_t{judgement.masked})
        .run();
    // Of an earlier session, which ended in an infra_error.
    Statement(database_.get(), "DELETE FROM evidence WHERE image = ?").bind(1, outcome.image).run();
    for (const oracle::Evidence &each : judgement.evidence) {
        const std::string details = each.details.text();
        evidence_->bind(1, outcome.image)
            .bind(2, std::string_view(each.oracle))
            .bind(3, std::string_view(to_string(each.verdict)))
            .bind(4, std::string_view(each.summary))
            .bind(5, std::string_view(details))
            .bind(6, std::string_view(title_of(each)))
            .run();
    }
}

void Results::put_probes(const Answer &answer)
{
    Statement row(database_.get(),
                  "INSERT OR REPLACE INTO probe VALUES (?1, ?2, ?3, ?4, ?5 / 1e6)");
    for (const Probe &probe : answer.probes) {
        const std::string state = states::id_of(probe.state);
        row.bind(1, answer.image)
            .bind(2, std::string_view(state))
            .bind(3, std::string_view(to_string(probe.verdict)))
            .bind(4, std::int64_t{probe.alike})
            .bind(5, static_cast<std::int64_t>(probe.seconds * 1e6))
            .run();
    }
}

void Results::put_finding(const Finding &finding)
{
    put_finding_row(database_, finding);
}

void Results::put_workload_finding(const Finding &finding)
{
    put_workload_finding_row(database_, finding);
}

void Results::add_to_finding(const Finding &finding)
{
    add_to_finding_row(database_, finding);
}

void Results::commit()
{
    // One state that is legal whatever counts as a fence makes a finding a bug, also one that came
    // later.
    database_.execute("UPDATE finding SET severity = 'bug' WHERE severity = 'warning' AND EXISTS "
                      "(SELECT 1 FROM image "
                      "JOIN origin ON origin.image = image.number WHERE image.finding = finding.id "
                      "AND architectural);"
                      "COMMIT; BEGIN IMMEDIATE");
}

std::map<std::string, std::uint64_t> Results::verdicts()
{
    std::map<std::string, std::uint64_t> counts;
    Statement rows(
        database_.get(),
        "SELECT verdict, count(*) FROM image WHERE verdict IS NOT NULL GROUP BY verdict");
    while (rows.step())
        counts[std::string(rows.text(0))] = rows.number(1);
    return counts;
}

std::vector<Finding> Results::findings()
{
    return finding_rows(database_);
}

std::set<std::string> Results::bugs()
{
    std::set<std::string> ids;
    Statement rows(database_.get(), "SELECT id FROM finding WHERE severity = 'bug'");
    while (rows.step())
        ids.emplace(rows.text(0));
    return ids;
}

std::vector<std::pair<std::string, std::uint64_t>> Results::infra_reasons()
{
    std::vector<std::pair<std::string, std::uint64_t>> reasons;
    Statement rows(
        database_.get(),
        "SELECT summary, count(DISTINCT image) AS images FROM evidence "
        "JOIN image ON image.number = evidence.image WHERE image.verdict = 'infra_error' "
        "AND evidence.verdict = 'infra_error' GROUP BY summary ORDER BY images DESC, summary");
    while (rows.step())
        reasons.emplace_back(rows.text(0), rows.number(1));
    return reasons;
}

std::uint64_t Results::disagreements()
{
    return static_cast<std::uint64_t>(
        database_.integer("SELECT count(*) FROM image WHERE disagreed"));
}

std::uint64_t Results::masked()
{
    return static_cast<std::uint64_t>(
        database_.integer("SELECT count(*) FROM image WHERE masked > 0"));
}

std::uint64_t Results::states()
{
    return static_cast<std::uint64_t>(
        database_.integer("SELECT count(*) FROM origin JOIN image ON image.number = origin.image "
                          "WHERE image.verdict IS NOT NULL"));
}

} // namespace fencepost::test
