// SPDX-License-Identifier: GPL-2.0-or-later
// See finding_files.h.
#include "replayer/test/finding_files.h"

#include <set>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "analyzer/report/json.h"
#include "base/error.h"
#include "base/json.h"
#include "replayer/image/state_delta.h"
#include "replayer/oracle/tree_evidence.h"
#include "replayer/run/inputs.h"
#include "replayer/test/reproduce_script.h"

namespace fencepost::test {

namespace {

// Only what remove_findings() knows: it would leave anything else behind.
void write(const Folder &finding, const std::string &name, std::string_view text)
{
    CHECK(run::is_finding_file(name), "a name of a finding's files");
    finding.write(name, text);
}

// What shows it without fencepost. Whether there is one is not what a finding depends on.
void write_script(const run::RunFiles &run, const Folder &folder,
                  const oracle::Judgement &judgement)
{
    std::string script;
    try {
        const run::Inputs inputs = run::load_inputs(run);
        script = reproduce_script(inputs, inputs.test.oracles, judgement);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        spdlog::debug("no reproduce.sh: {}", error.what());
    }
    if (script.empty())
        folder.remove("reproduce.sh");
    else
        write(folder, "reproduce.sh", script);
}

} // namespace

void write_summary(const Folder &folder, const Finding &finding)
{
    write(folder, "summary.json", json_document(report::to_json(finding)));
}

void write_finding(const run::RunFiles &run, const trace::TraceReader &reader,
                   const Finding &finding, const oracle::Judgement &judgement,
                   const trace::IncidentalFences &incidental)
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
    write_script(run, folder, judgement);
    // Last: a finding with a summary has everything.
    write_summary(folder, finding);
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
        write_summary(*one, finding);
    }
    run::remove_findings(folder, kept);
}

} // namespace fencepost::test
