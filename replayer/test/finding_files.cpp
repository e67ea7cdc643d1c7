// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_files.h.
#include "replayer/test/finding_files.h"

#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "replayer/image/state_delta.h"
#include "replayer/oracle/tree_evidence.h"

namespace fencepost::test {

using nlohmann::json;

namespace {

// Only what remove_findings() knows: it would leave anything else behind.
void write(const Folder &finding, const std::string &name, std::string_view text)
{
    CHECK(run::is_finding_file(name), "a name of a finding's files");
    finding.write(name, text);
}

} // namespace

json to_json(const Finding &finding)
{
    const auto store = [](const std::optional<FindingStore> &each) -> json {
        if (!each)
            return nullptr;
        return {{"site", each->name}, {"operation", each->operation}};
    };
    return {{"id", finding.id},
            {"severity", finding.severity},
            {"verdict", finding.verdict},
            {"oracle", finding.oracle},
            {"title", finding.title},
            {"summary", finding.summary},
            {"decides", to_string(finding.decides)},
            {"absent", store(finding.absent)},
            {"absent_sites", finding.absent_sites.size()},
            {"present", store(finding.present)},
            {"present_sites", finding.present_sites.size()},
            {"last", store(finding.last)},
            {"state", finding.state},
            {"image", finding.image},
            {"images", finding.images}};
}

void write_finding(const run::RunFiles &run, const trace::TraceReader &reader,
                   const Finding &finding, const oracle::Judgement &judgement,
                   const FindingStacks &stacks, const trace::IncidentalFences &incidental)
{
    CHECK(run::is_finding_id(finding.id), "a finding's id names a folder");
    const Folder folder = run.folder().made_below("findings").made_below(finding.id);
    folder.remove("summary.json"); // of an image that showed it before
    const std::vector<std::byte> delta = image::encode_delta(image::delta_of(
        reader, image::InitialImage(reader), states::parse_crash_state(finding.state), incidental));
    write(folder, "image.delta", {reinterpret_cast<const char *>(delta.data()), delta.size()});
    write(folder, "console.log", judgement.kernel_log);
    if (judgement.tree)
        write(folder, "tree.json", json_document(oracle::tree_json(*judgement.tree)));
    else
        folder.remove("tree.json");
    json evidence = json::array();
    for (const oracle::Evidence &each : judgement.evidence)
        evidence.push_back({{"oracle", each.oracle},
                            {"verdict", to_string(each.verdict)},
                            {"title", title_of(each)},
                            {"summary", each.summary},
                            {"details", each.details}});
    json summary = to_json(finding);
    summary["images"] = 1;
    summary["stacks"] = {
        {"absent", stacks.absent}, {"present", stacks.present}, {"last", stacks.last}};
    summary["evidence"] = evidence;
    // Last: a finding with a summary has everything.
    write(folder, "summary.json", json_document(summary));
}

void update_findings(const run::RunFiles &run, const std::vector<Finding> &known)
{
    const Folder folder = run.folder();
    const std::optional<Folder> findings = folder.below("findings");
    if (!findings)
        return;
    std::set<std::string> kept;
    for (const Finding &finding : known) {
        kept.insert(finding.id);
        const std::optional<Folder> one = findings->below(finding.id);
        if (!one || one->kind_of("summary.json") == Folder::Kind::nothing)
            continue;
        json summary = json_or_discarded(one->read("summary.json", run::kMostText));
        if (!summary.is_object())
            continue;
        summary.update(to_json(finding));
        for (const char *store : {"absent", "present"})
            if (summary[store].is_null() && summary["stacks"].is_object())
                summary["stacks"][store] = json::array();
        write(*one, "summary.json", json_document(summary));
    }
    run::remove_findings(folder, kept);
}

} // namespace fencepost::test
