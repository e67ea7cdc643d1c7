// SPDX-License-Identifier: GPL-2.0-or-later
// See inputs.h.
#include "replayer/run/inputs.h"

#include <algorithm>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "replayer/guest/config_json.h"

namespace fencepost::run {

using nlohmann::json;

namespace {

constexpr int kInputsFormat = 4;

// Of one file of the run: by its name, wherever the path to the run leads by now.
std::string read_from(const Folder &run, const std::filesystem::path &file, std::uint64_t most)
{
    return run.read(file.filename(), most);
}

void write_to(const Folder &run, const std::filesystem::path &file, std::string_view text)
{
    run.write(file.filename(), text);
}

json texts_to_json(const std::vector<SourceText> &texts)
{
    json list = json::array();
    for (const SourceText &each : texts)
        list.push_back(
            {{"name", each.name}, {"text", each.text}, {"directory", each.directory.string()}});
    return list;
}

std::vector<SourceText> texts_from_json(const json &list)
{
    std::vector<SourceText> texts;
    for (const json &each : list)
        texts.push_back(
            {each.at("text"), each.at("name"), 1, each.at("directory").get<std::string>()});
    return texts;
}

std::optional<bool> flag_from_json(const json &flag)
{
    return flag.is_null() ? std::nullopt : std::optional(flag.get<bool>());
}

// Checked here: a run directory may be anybody's.
PromiseSpec promise_from_json(const json &promise)
{
    PromiseSpec spec = {promise.at("preset"), promise.at("fields")};
    bool known = spec.preset.empty() || find_preset(spec.preset);
    for (const auto &[name, value] : spec.fields) {
        const PromiseField *field = find_promise_field(name);
        known = known && field &&
                std::find(field->values.begin(), field->values.end(), value) != field->values.end();
    }
    if (!known)
        fail(ErrorKind::trace, "inputs.json has a promise that does not exist");
    return spec;
}

AnalyzeSpec analyze_from_json(const json &analyze)
{
    return {texts_from_json(analyze.at("transactions")), texts_from_json(analyze.at("order")),
            texts_from_json(analyze.at("suppressions"))};
}

std::vector<std::string> incidental_from_json(const json &document)
{
    return document.contains("model")
               ? document["model"].at("incidental").get<std::vector<std::string>>()
               : std::vector<std::string>();
}

// Nothing for a trace by itself.
std::optional<json> inputs_if_any(const RunFiles &files)
{
    const Folder run = RunFiles{files.directory.empty() ? "." : files.directory}.folder();
    if (run.kind_of(files.inputs().filename()) == Folder::Kind::nothing)
        return std::nullopt;
    return parse_json(read_from(run, files.inputs(), kMostText));
}

} // namespace

std::optional<Mount> mount_of(const agent::Job &job, std::span<const guest::PmConfig> devices)
{
    constexpr std::string_view kPrefix = "/dev/pmem";
    for (const agent::JobStep &step : job.steps) {
        if (step.kind != agent::StepKind::mount)
            continue;
        const std::string &source = step.mount.source;
        const std::size_t number = source.starts_with(kPrefix)
                                       ? std::strtoul(source.c_str() + kPrefix.size(), nullptr, 10)
                                       : 0;
        if (number >= devices.size())
            fail(ErrorKind::trace, "the run mounts {}, which is not one of its PM devices", source);
        const std::uint64_t offset = guest::pm_data_offset(devices[number]);
        return Mount{step.mount, number, offset, devices[number].size - offset};
    }
    return std::nullopt;
}

const agent::JobStep &workload_of(const Inputs &inputs)
{
    if (inputs.workload_step >= inputs.workload.steps.size())
        fail(ErrorKind::trace, "the run's workload is missing from its job");
    return inputs.workload.steps[inputs.workload_step];
}

std::vector<std::string> own_programs(const Inputs &inputs)
{
    std::vector<std::string> paths;
    for (const agent::JobFile &file : inputs.workload.files)
        paths.push_back(file.path);
    const agent::JobStep &step = workload_of(inputs);
    if (!step.command.argv.empty() && step.operations.empty()) // else it is a shell
        paths.push_back(step.command.argv.front());
    return paths;
}

void save_inputs(const RunFiles &files, const Inputs &inputs)
{
    const json document = {
        {"format", kInputsFormat},
        {"guest", guest::config_to_json(inputs.config)},
        {"workload_step", inputs.workload_step},
        {"host_time_limit", inputs.host_time_limit},
        {"stacks", inputs.stacks},
        {"test",
         {{"oracles", inputs.test.oracles},
          {"promise",
           {{"preset", inputs.test.promise.preset}, {"fields", inputs.test.promise.fields}}},
          {"recovery", inputs.test.recovery},
          {"recovery_progress",
           inputs.test.recovery_progress ? json(*inputs.test.recovery_progress) : json(nullptr)},
          {"other_file_system", inputs.test.other_file_system},
          {"time_limit", inputs.test.time_limit},
          {"annotator", inputs.test.annotator}}},
        {"model", {{"incidental", inputs.test.incidental}}},
        {"analyze",
         {{"transactions", texts_to_json(inputs.analyze.transactions)},
          {"order", texts_to_json(inputs.analyze.order)},
          {"suppressions", texts_to_json(inputs.analyze.suppressions)}}}};
    const Folder run = files.folder();
    write_to(run, files.inputs(), json_document(document, BadUtf8::refuse));
    write_to(run, files.setup_job(), agent::encode_job(inputs.setup));
    write_to(run, files.workload_job(), agent::encode_job(inputs.workload));
    write_to(run, files.spec(), inputs.spec);
}

Inputs load_inputs(const RunFiles &files)
{
    const std::string where = files.directory.string();
    Inputs inputs;
    try {
        const Folder run = files.folder();
        const json document = parse_json(read_from(run, files.inputs(), kMostText));
        if (document.at("format") != kInputsFormat)
            fail(ErrorKind::trace, "{} was recorded by another version of fencepost", where);
        inputs.config = guest::config_from_json(document.at("guest"));
        inputs.workload_step = document.at("workload_step");
        inputs.host_time_limit = document.at("host_time_limit");
        inputs.stacks = document.at("stacks");
        const json &test = document.at("test");
        inputs.test = {test.at("oracles"),           promise_from_json(test.at("promise")),
                       test.at("recovery"),          flag_from_json(test.at("recovery_progress")),
                       test.at("other_file_system"), test.at("time_limit")};
        inputs.test.incidental = incidental_from_json(document);
        inputs.test.annotator = test.value("annotator", std::string());
        inputs.analyze = analyze_from_json(document.at("analyze"));
        inputs.spec = read_from(run, files.spec(), kMostText);
        if (!agent::decode_job(read_from(run, files.setup_job(), kMostJob), inputs.setup) ||
            !agent::decode_job(read_from(run, files.workload_job(), kMostJob), inputs.workload))
            fail(ErrorKind::trace, "the jobs of {} are damaged", where);
        guest::validate(inputs.config);
        inputs.mount = mount_of(inputs.workload, inputs.config.pm);
    } catch (const json::exception &) {
        fail(ErrorKind::trace, "inputs.json of {} is damaged", where);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::trace)
            throw;
        fail(ErrorKind::trace, "what {} was recorded from cannot be read: {}", where, error.what());
    }
    return inputs;
}

bool record_the_same(const Inputs &a, const Inputs &b)
{
    return config_to_json(a.config) == config_to_json(b.config) && a.setup == b.setup &&
           a.workload == b.workload && a.workload_step == b.workload_step &&
           a.host_time_limit == b.host_time_limit && a.stacks == b.stacks;
}

std::string judgement_text(const RunFiles &files)
{
    json document = json_or_discarded(read_from(files.folder(), files.inputs(), kMostText));
    if (!document.is_object() || !document.contains("test") || !document["test"].is_object())
        fail(ErrorKind::trace, "inputs.json of {} is damaged", files.directory.string());
    document["test"].erase("oracles");
    document["test"].erase("annotator");
    return json_text(document["test"], BadUtf8::refuse);
}

AnalyzeSpec load_analyze(const RunFiles &files)
{
    try {
        const std::optional<json> document = inputs_if_any(files);
        return document && document->contains("analyze") ? analyze_from_json((*document)["analyze"])
                                                         : AnalyzeSpec();
    } catch (const json::exception &) {
        fail(ErrorKind::trace, "inputs.json of {} is damaged", files.directory.string());
    }
}

std::vector<std::string> load_incidental(const RunFiles &files)
{
    try {
        const std::optional<json> document = inputs_if_any(files);
        return document ? incidental_from_json(*document) : std::vector<std::string>();
    } catch (const json::exception &) {
        fail(ErrorKind::trace, "inputs.json of {} is damaged", files.directory.string());
    }
}

} // namespace fencepost::run
