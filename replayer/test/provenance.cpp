// SPDX-License-Identifier: GPL-2.0-or-later
// See provenance.h.
#include "replayer/test/provenance.h"

#include <algorithm>

#include "base/child_process.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "guest-images/image/image_store.h"
#include "guest-images/image/manifest.h"
#include "replayer/oracle/oracle_folder.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/run/inputs.h"

namespace fencepost::test {

namespace fs = std::filesystem;

namespace {

// The module of a spec, the package of the default kernel, the agent: each by itself, so that the
// one that has changed can be named.
void add_image(const fs::path &cache, const std::string &name, std::vector<Producer> &producers)
{
    const images::Image image = images::ImageStore(cache).open(name);
    constexpr const char *kWords[] = {"the recipe of guest images", "the guest's agent",
                                      "the marker program",         "the guest's package",
                                      "the guest's kernel",         "the guest's modules",
                                      "the guest's module",         "the guest's extra files"};
    for (const images::Input &input : images::read_manifest(image.directory).inputs) {
        const auto kind = static_cast<std::size_t>(input.kind);
        CHECK(kind < std::size(kWords), "each kind of an image's inputs has words");
        const bool alone = input.kind == images::InputKind::recipe ||
                           input.kind == images::InputKind::agent ||
                           input.kind == images::InputKind::marker_program;
        producers.push_back(
            {fmt::format("guest {} {}", kind, input.name),
             alone ? std::string(kWords[kind]) : fmt::format("{} {}", kWords[kind], input.name),
             Digest().add(input.version).add(input.digest).hex()});
    }
}

// All files of an oracle's folder, and the programs that it says it needs.
std::string digest_of(const oracle::OracleFolder &oracle)
{
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(oracle.directory))
        if (entry.is_regular_file())
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    Digest digest;
    for (const fs::path &file : files)
        digest.add(file.lexically_relative(oracle.directory).string()).add(file_digest(file));
    for (const std::string &need : oracle.needs)
        if (const auto program = find_program(need))
            digest.add(need).add(file_digest(*program));
    return digest.hex();
}

std::string file_system_of(const run::Inputs &inputs)
{
    return inputs.mount ? inputs.mount->request.fstype : "";
}

// Programs on the host: those that were asked for, and those of ours for the file system, which
// judge by default, and after `usable` has had its turn.
void add_oracles(const run::Inputs &inputs, const std::vector<std::string> &asked,
                 std::vector<Producer> &producers)
{
    std::vector<oracle::OracleFolder> folders;
    for (const std::string &name : asked)
        if (!oracle::find_entry(name) && !oracle::is_own(name))
            folders.push_back(oracle::find_folder(name));
    const std::string file_system = file_system_of(inputs);
    if (!file_system.empty())
        for (const oracle::OracleFolder &each : oracle::shipped_folders())
            if (each.is_for(file_system) && std::none_of(folders.begin(), folders.end(),
                                                         [&](const oracle::OracleFolder &known) {
                                                             return known.directory ==
                                                                    each.directory;
                                                         }))
                folders.push_back(each);
    for (const oracle::OracleFolder &each : folders)
        producers.push_back({"oracle " + each.name, "the oracle " + each.name, digest_of(each)});
}

} // namespace

std::vector<Producer> producers_of(const fs::path &cache, const std::string &image,
                                   const run::RunFiles &run, const run::Inputs &inputs,
                                   const std::vector<std::string> &oracles,
                                   const oracle::OwnOracles &own)
{
    std::vector<Producer> producers;
    add_image(cache, image, producers);
    add_oracles(inputs, oracles, producers);
    for (const std::string &name : oracles)
        if (const oracle::OwnOracle *each = oracle::find_own(own, name))
            producers.push_back({"oracle " + name, "the oracle " + name, each->version});
    producers.push_back({"test", "[test] of the spec (promise, recovery command or time limit)",
                         Digest().add(run::judgement_text(run)).hex()});
    producers.push_back({"workload", "a file of the workload or of its recovery command",
                         Digest().add(agent::encode_job(inputs.workload)).hex()});
    producers.push_back({"fencepost", "fencepost itself", FENCEPOST_VERSION});
    return producers;
}

} // namespace fencepost::test
