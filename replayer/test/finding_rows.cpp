// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_rows.h.
#include "replayer/test/finding_rows.h"

#include <nlohmann/json.hpp>

#include "replayer/test/workload_finding.h"

namespace fencepost::test {

using findings::Decides;
using findings::Finding;
using findings::Place;
using trace::Statement;

namespace {

std::vector<std::string> names_in(std::string_view text)
{
    std::vector<std::string> names;
    if (const auto list = nlohmann::json::parse(text, nullptr, false); list.is_array())
        for (const nlohmann::json &name : list)
            if (name.is_string())
                names.push_back(name.get<std::string>());
    return names;
}

std::string json_of(const std::vector<std::string> &names)
{
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<trace::SiteId> sites_in(std::string_view text)
{
    std::vector<trace::SiteId> sites;
    if (const auto list = nlohmann::json::parse(text, nullptr, false); list.is_array())
        for (const nlohmann::json &site : list)
            if (site.is_number_unsigned())
                sites.push_back(site.get<trace::SiteId>());
    return sites;
}

// Columns of a place in a row that is read: seq, site, stack, operation. NULL: there is none.
void read_place(Statement &row, int column, std::string_view role, Finding &finding)
{
    if (row.is_null(column + 1))
        return;
    Place place = {.role = std::string(role), .at = {}};
    place.at.event = {.seq = row.number(column),
                      .site = static_cast<trace::SiteId>(row.number(column + 1)),
                      .stack = static_cast<trace::StackId>(row.number(column + 2))};
    place.operation = row.text(column + 3);
    finding.places.push_back(std::move(place));
}

// Columns of finding_rows().
void read_cause(Statement &row, Finding &finding)
{
    finding.absent_sites = sites_in(row.text(6));
    finding.present_sites = sites_in(row.text(7));
    finding.absent_code = names_in(row.text(23));
    finding.present_code = names_in(row.text(24));
    finding.scope = row.text(25);
    finding.callers = names_in(row.text(26));
    finding.other_ids = names_in(row.text(27));
    finding.unfenced = row.number(28) != 0;
    finding.decides = with_stores(findings::decides_named(row.text(5)).value_or(Decides::unknown),
                                  !finding.absent_sites.empty(), !finding.present_sites.empty());
}

void read_evidence(trace::Database &database, Finding &finding)
{
    Statement rows(database.get(), "SELECT oracle, verdict, title, summary, details FROM evidence "
                                   "WHERE image = ? ORDER BY rowid");
    rows.bind(1, finding.image);
    while (rows.step())
        finding.evidence.push_back({std::string(rows.text(0)), std::string(rows.text(1)),
                                    std::string(rows.text(2)), std::string(rows.text(3)),
                                    std::string(rows.text(4))});
}

// What decided other images of the finding.
void read_symptoms(trace::Database &database, Finding &finding)
{
    Statement rows(database.get(), "SELECT verdict, oracle, summary, title, images FROM symptom "
                                   "WHERE finding = ? ORDER BY images DESC, image");
    rows.bind(1, std::string_view(finding.id));
    while (rows.step())
        if (rows.text(0) != finding.verdict || rows.text(1) != finding.oracle ||
            rows.text(2) != finding.summary)
            finding.also.push_back({std::string(rows.text(0)), std::string(rows.text(1)),
                                    std::string(rows.text(2)), std::string(rows.text(3)),
                                    rows.number(4)});
}

void read_states(trace::Database &database, Finding &finding)
{
    Statement count(database.get(), "SELECT count(*) FROM finding_state WHERE finding = ?");
    count.bind(1, std::string_view(finding.id));
    if (count.step())
        finding.state_count = count.number(0);
    Statement rows(database.get(), "SELECT state FROM finding_state WHERE finding = ? "
                                   "ORDER BY image, state LIMIT ?");
    rows.bind(1, std::string_view(finding.id)).bind(2, std::uint64_t{findings::kMostStates});
    while (rows.step())
        finding.states.emplace_back(rows.text(0));
}

void set_title(Finding &finding)
{
    finding.title = finding.summary;
    for (const findings::Evidence &each : finding.evidence)
        if (each.oracle == finding.oracle && each.summary == finding.summary)
            finding.title = each.title;
}

} // namespace

namespace {

// All that further images may change, but for places.
void put_cause(trace::Database &database, const Finding &finding)
{
    // Texts are borrowed until the row is written.
    const std::string absent_sites = nlohmann::json(finding.absent_sites).dump();
    const std::string present_sites = nlohmann::json(finding.present_sites).dump();
    const std::string absent_code = json_of(finding.absent_code);
    const std::string present_code = json_of(finding.present_code);
    const std::string callers = json_of(finding.callers);
    const std::string other_ids = json_of(finding.other_ids);
    Statement(database.get(),
              "UPDATE finding SET decides = ?2, absent_sites = ?3, present_sites = ?4, "
              "absent_code = ?5, present_code = ?6, scope = ?7, callers = ?8, other_ids = ?9, "
              "unfenced = ?10 WHERE id = ?1")
        .bind(1, std::string_view(finding.id))
        .bind(2, name_of(finding.decides))
        .bind(3, std::string_view(absent_sites))
        .bind(4, std::string_view(present_sites))
        .bind(5, std::string_view(absent_code))
        .bind(6, std::string_view(present_code))
        .bind(7, std::string_view(finding.scope))
        .bind(8, std::string_view(callers))
        .bind(9, std::string_view(other_ids))
        .bind(10, std::uint64_t{finding.unfenced})
        .run();
}

} // namespace

void put_finding_row(trace::Database &database, const Finding &finding)
{
    std::string names[3]; // borrowed until the row is written
    Statement row(
        database.get(),
        "INSERT INTO finding (id, severity, verdict, oracle, summary, decides, "
        "absent_seq, absent_site, absent_stack, absent_name, absent_operation, "
        "present_seq, present_site, present_stack, present_name, present_operation, "
        "last_seq, last_site, last_stack, last_name, last_operation, image, state, "
        "absent_sites, absent_code, present_sites, present_code, scope, callers, other_ids, "
        "unfenced, images) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
        "?18, ?19, ?20, ?21, ?22, ?23, '[]', '[]', '[]', '[]', '', '[]', '[]', 0, 1) "
        "ON CONFLICT (id) DO UPDATE SET images = images + 1, "
        "(verdict, oracle, summary) = (?3, ?4, ?5), "
        "(absent_seq, absent_site, absent_stack, absent_name, absent_operation) = "
        "(?7, ?8, ?9, ?10, ?11), "
        "(present_seq, present_site, present_stack, present_name, present_operation) = "
        "(?12, ?13, ?14, ?15, ?16), "
        "(last_seq, last_site, last_stack, last_name, last_operation) = (?17, ?18, ?19, ?20, ?21), "
        "image = ?22, state = ?23");
    row.bind(1, std::string_view(finding.id))
        .bind(2, name_of(finding.severity))
        .bind(3, std::string_view(finding.verdict))
        .bind(4, std::string_view(finding.oracle))
        .bind(5, std::string_view(finding.summary))
        .bind(6, name_of(finding.decides))
        .bind(22, finding.image)
        .bind(23, std::string_view(finding.state));
    const auto bind = [&](int column, std::string_view role, std::string &name) {
        const Place *place = place_of(finding, role);
        if (!place)
            return;
        name = text_of(place->at.code);
        row.bind(column, place->at.event.seq)
            .bind(column + 1, std::uint64_t{place->at.event.site})
            .bind(column + 2, std::uint64_t{place->at.event.stack})
            .bind(column + 3, std::string_view(name))
            .bind(column + 4, std::string_view(place->operation));
    };
    bind(7, findings::kAbsent, names[0]);
    bind(12, findings::kPresent, names[1]);
    bind(17, findings::kLast, names[2]);
    row.run();
    put_cause(database, finding);
}

void put_workload_finding_row(trace::Database &database, const Finding &finding)
{
    Statement(
        database.get(),
        "INSERT OR IGNORE INTO finding (id, severity, verdict, oracle, summary, decides, "
        "absent_sites, absent_code, present_sites, present_code, scope, callers, other_ids, "
        "unfenced, image, state, images) "
        "VALUES (?1, ?2, ?3, ?4, ?5, 'unknown', '[]', '[]', '[]', '[]', '', '[]', '[]', 0, 0, '', "
        "0)")
        .bind(1, std::string_view(finding.id))
        .bind(2, name_of(finding.severity))
        .bind(3, std::string_view(finding.verdict))
        .bind(4, std::string_view(finding.oracle))
        .bind(5, std::string_view(finding.summary))
        .run();
}

void add_to_finding_row(trace::Database &database, const Finding &finding)
{
    Statement(database.get(), "UPDATE finding SET images = images + 1 WHERE id = ?")
        .bind(1, std::string_view(finding.id))
        .run();
    put_cause(database, finding);
    const auto forget = [&](std::string_view role, const char *statement) {
        if (!place_of(finding, role))
            Statement(database.get(), statement).bind(1, std::string_view(finding.id)).run();
    };
    forget(findings::kAbsent,
           "UPDATE finding SET (absent_seq, absent_site, absent_stack, absent_name, "
           "absent_operation) = (NULL, NULL, NULL, NULL, NULL) WHERE id = ?");
    forget(findings::kPresent,
           "UPDATE finding SET (present_seq, present_site, present_stack, present_name, "
           "present_operation) = (NULL, NULL, NULL, NULL, NULL) WHERE id = ?");
}

std::vector<Finding> finding_rows(trace::Database &database)
{
    std::vector<Finding> found;
    Statement rows(database.get(),
                   "SELECT id, severity, verdict, oracle, summary, decides, absent_sites, "
                   "present_sites, image, state, images, "
                   "absent_seq, absent_site, absent_stack, absent_operation, "
                   "present_seq, present_site, present_stack, present_operation, "
                   "last_seq, last_site, last_stack, last_operation, "
                   "absent_code, present_code, scope, callers, other_ids, unfenced FROM finding "
                   "ORDER BY image");
    while (rows.step()) {
        Finding &finding = found.emplace_back();
        finding.id = rows.text(0);
        finding.severity = findings::severity_named(rows.text(1)).value_or(findings::Severity::bug);
        finding.verdict = rows.text(2);
        finding.oracle = rows.text(3);
        finding.kind = finding.oracle == kWorkloadOracle ? findings::Kind::workload
                                                         : findings::Kind::crash_state;
        finding.summary = rows.text(4);
        read_cause(rows, finding);
        finding.image = rows.number(8);
        finding.state = rows.text(9);
        finding.count = rows.number(10);
        if (!finding.absent_sites.empty())
            read_place(rows, 11, findings::kAbsent, finding);
        if (!finding.present_sites.empty())
            read_place(rows, 15, findings::kPresent, finding);
        read_place(rows, 19, findings::kLast, finding);
        if (finding.severity == findings::Severity::warning)
            finding.note = findings::kIncidentalLock;
        read_evidence(database, finding);
        set_title(finding);
        read_symptoms(database, finding);
        read_states(database, finding);
    }
    return found;
}

} // namespace fencepost::test
