// SPDX-License-Identifier: GPL-2.0-or-later
// See minimal_finding.h.
#include "replayer/test/minimal_finding.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/site_name.h"
#include "analyzer/symbols/pm_names.h"
#include "base/json.h"

namespace fencepost::test {

using nlohmann::json;
using Regions = std::span<const trace::Region>;

namespace {

constexpr std::size_t kMostNamed = 2;   // stores in a sentence
constexpr std::size_t kMostStores = 64; // in a file, of each kind
constexpr std::size_t kMostBytes = 64;  // of a range

std::string hex(const std::vector<std::byte> &bytes)
{
    std::string text;
    for (std::size_t i = 0; i < bytes.size() && i < kMostBytes; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
    return text;
}

std::string words_of(const MinimalStore &store, Regions regions)
{
    std::string text = findings::text_of(store.at.at);
    if (const std::string caller = findings::caller_name(store.at.at); !caller.empty())
        text += " for " + caller;
    if (!store.bytes.empty()) {
        const StoredBytes &first = store.bytes.front();
        text += fmt::format(
            " ({} byte{} at {}{})", first.after.size(), first.after.size() == 1 ? "" : "s",
            symbols::pm_name(regions, first.address), store.bytes.size() > 1 ? " and more" : "");
    }
    if (!store.at.operation.empty())
        text += fmt::format(" in `{}`", store.at.operation);
    return text;
}

// "X and Y", "X, Y and 3 more"; `verb`: for one and for several.
std::string words_of(const std::vector<MinimalStore> &stores, Regions regions, const char *one,
                     const char *several)
{
    std::vector<const MinimalStore *> named;
    for (const MinimalStore &each : stores)
        if (!each.implied)
            named.push_back(&each);
    std::string text;
    for (std::size_t i = 0; i < named.size() && i < kMostNamed; ++i) {
        const bool last = i + 1 == named.size();
        text += (i == 0 ? "" : last ? " and " : ", ") + words_of(*named[i], regions);
    }
    if (named.size() > kMostNamed)
        text += fmt::format(" and {} more stores", named.size() - kMostNamed);
    return fmt::format("{} {}", text, named.size() == 1 ? one : several);
}

std::string where_earliest(const MinimalFinding &minimal)
{
    if (!minimal.earliest)
        return "";
    const std::uint64_t seq = states::parse_crash_state(minimal.failing.state).seq;
    const std::string first =
        fmt::format("before event {}{}", minimal.earliest->seq,
                    minimal.earliest->operation.empty()
                        ? ""
                        : fmt::format(", in `{}`", minimal.earliest->operation));
    return minimal.earliest->seq == seq
               ? "; earliest failing crash point found: " + first
               : fmt::format("; that is before event {}, and it fails as early as {}", seq, first);
}

json to_json(const MinimalStore &store, Regions regions)
{
    json ranges = json::array();
    for (const StoredBytes &each : store.bytes) {
        ranges.push_back({{"place", symbols::pm_name(regions, each.address)},
                          {"address", each.address},
                          {"size", each.after.size()},
                          {"before", hex(each.before)},
                          {"after", hex(each.after)}});
        if (!each.belongs_to.empty())
            ranges.back()["belongs_to"] = each.belongs_to;
    }
    json stack = json::array();
    for (const symbols::CodePlace &caller : store.at.at.callers)
        stack.push_back(text_of(caller));
    const symbols::CodePlace &code = store.at.at.code;
    return {{"role", store.at.role},
            {"seq", store.at.at.event.seq},
            {"kind", store.non_temporal ? "nt_store" : "store"},
            {"function", code.function},
            {"where", text_of(code)},
            {"instruction", code.instruction},
            {"stack", stack},
            {"operation", store.at.operation},
            {"implied", store.implied},
            {"bytes", ranges}};
}

json to_json(const std::vector<MinimalStore> &stores, Regions regions)
{
    json rows = json::array();
    for (const MinimalStore &each : stores)
        if (rows.size() < kMostStores)
            rows.push_back(to_json(each, regions));
    return rows;
}

const char *name_of(Said said)
{
    switch (said) {
    case Said::passes:
        return "passes";
    case Said::fails_alike:
        return "fails_alike";
    case Said::other:
        return "other";
    }
    return "unknown";
}

json tests_json(const MinimalFinding &minimal)
{
    json asked = json::array();
    for (const AskedState &each : minimal.asked)
        asked.push_back({{"state", each.state},
                         {"verdict", to_string(each.verdict)},
                         {"said", name_of(each.said)},
                         {"seconds", each.seconds}});
    return {{"count", minimal.asked.size()},
            {"known", minimal.known},
            {"seconds", minimal.seconds},
            {"asked", asked}};
}

// Of the pair, where states that have nothing to do with it fail too.
std::string difference(const MinimalFinding &minimal, Regions regions)
{
    std::vector<MinimalStore> persisted;
    std::vector<MinimalStore> lost;
    for (const MinimalStore &store : minimal.differ)
        (store.at.role == kPersisted ? persisted : lost).push_back(store);
    std::string words;
    if (!persisted.empty())
        words += words_of(persisted, regions, "persisted", "persisted");
    if (!lost.empty())
        words += (words.empty() ? "" : " and ") + words_of(lost, regions, "was lost", "were lost");
    return words.empty() ? ""
                         : "where " + words + " and passes where only that differs; also fails ";
}

} // namespace

std::string sentence(const MinimalFinding &minimal, Regions regions)
{
    if (!minimal.reproduced)
        return minimal.asked.empty() && minimal.known == 0
                   ? "not minimized: nothing was tested"
                   : "not minimized: the state did not fail alike when it was tested again";
    const char *fails = minimal.exact && minimal.complete ? "fails exactly when" : "fails when";
    const bool needs = !minimal.persisted.empty();
    const bool lacks = !minimal.lost.empty();
    const std::string persisted = words_of(minimal.persisted, regions, "persisted", "persisted");
    const std::string lost = words_of(minimal.lost, regions, "was lost", "were lost");
    if (needs && lacks)
        return fmt::format("{} {} and {}{}", fails, persisted, lost, where_earliest(minimal));
    if (needs)
        return fmt::format("{} {}, whatever else did{}", fails, persisted, where_earliest(minimal));
    if (lacks)
        return fmt::format("{} {}, whatever else persisted{}", fails, lost,
                           where_earliest(minimal));
    const std::string differ = difference(minimal, regions);
    return fmt::format("fails {}with all and with none of the stores in flight{}", differ,
                       where_earliest(minimal));
}

json to_json(const MinimalFinding &minimal, Regions regions)
{
    const auto state_json = [](const MinimalState &state) {
        return json{{"state", state.state}, {"confirmed", state.confirmed}};
    };
    json document = {{"finding", minimal.finding},
                     {"sentence", sentence(minimal, regions)},
                     {"of_state", minimal.of_state},
                     {"reproduced", minimal.reproduced},
                     {"complete", minimal.complete},
                     {"exact", minimal.exact},
                     {"fail", state_json(minimal.failing)},
                     {"pass", minimal.passing ? state_json(*minimal.passing) : json()},
                     {"differ", to_json(minimal.differ, regions)},
                     {"persisted", to_json(minimal.persisted, regions)},
                     {"lost", to_json(minimal.lost, regions)},
                     {"earliest", nullptr},
                     {"tests", tests_json(minimal)}};
    if (minimal.earliest)
        document["earliest"] = {{"state", minimal.earliest->state},
                                {"seq", minimal.earliest->seq},
                                {"operation", minimal.earliest->operation}};
    return document;
}

json kept_minimal(const run::RunFiles &run, const std::string &finding)
{
    const json nothing(json::value_t::discarded);
    const std::optional<Folder> findings = run.folder().below("findings");
    const std::optional<Folder> folder =
        findings && run::is_finding_id(finding) ? findings->below(finding) : std::nullopt;
    if (!folder || folder->kind_of("minimal.json") == Folder::Kind::nothing)
        return nothing;
    return json_or_discarded(folder->read("minimal.json", run::kMostText));
}

namespace {

bool has(const json &minimal, const char *name, const json &value)
{
    const auto found = minimal.is_object() ? minimal.find(name) : minimal.end();
    return minimal.is_object() && found != minimal.end() && *found == value;
}

} // namespace

bool is_minimized(const run::RunFiles &run, const findings::Finding &finding)
{
    const json minimal = kept_minimal(run, finding.id);
    return has(minimal, "complete", true) && has(minimal, "of_state", finding.state);
}

std::string kept_sentence(const run::RunFiles &run, const findings::Finding &finding)
{
    const json minimal = kept_minimal(run, finding.id);
    if (!has(minimal, "of_state", finding.state))
        return "";
    const auto text = minimal.find("sentence");
    return text != minimal.end() && text->is_string() ? text->get<std::string>() : "";
}

} // namespace fencepost::test
