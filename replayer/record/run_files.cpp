// SPDX-License-Identifier: GPL-2.0-or-later
// See run_files.h.
#include "replayer/record/run_files.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/guest/template_manifest.h"
#include "trace/compression.h"

namespace fencepost::record {

using nlohmann::json;

namespace {

constexpr int kInputsFormat = 4;
constexpr int kCompressionLevel = 3;

std::string compressed(const std::string &text)
{
    const std::vector<std::byte> frame =
        trace::Compressor(kCompressionLevel)
            .compress(std::as_bytes(std::span(text.data(), text.size())));
    return {reinterpret_cast<const char *>(frame.data()), frame.size()};
}

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
run::PromiseSpec promise_from_json(const json &promise)
{
    run::PromiseSpec spec = {promise.at("preset"), promise.at("fields")};
    bool known = spec.preset.empty() || run::find_preset(spec.preset);
    for (const auto &[name, value] : spec.fields) {
        const run::PromiseField *field = run::find_promise_field(name);
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
    return json::parse(read_from(run, files.inputs(), kMostText));
}

} // namespace

void save_inputs(const RunFiles &files, const RecordInputs &inputs)
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
          {"time_limit", inputs.test.time_limit}}},
        {"model", {{"incidental", inputs.test.incidental}}},
        {"analyze",
         {{"transactions", texts_to_json(inputs.analyze.transactions)},
          {"order", texts_to_json(inputs.analyze.order)},
          {"suppressions", texts_to_json(inputs.analyze.suppressions)}}}};
    const Folder run = files.folder();
    write_to(run, files.inputs(), document.dump(2) + "\n");
    write_to(run, files.setup_job(), agent::encode_job(inputs.setup));
    write_to(run, files.workload_job(), agent::encode_job(inputs.workload));
    write_to(run, files.spec(), inputs.spec);
}

RecordInputs load_inputs(const RunFiles &files)
{
    const std::string where = files.directory.string();
    RecordInputs inputs;
    try {
        const Folder run = files.folder();
        const json document = json::parse(read_from(run, files.inputs(), kMostText));
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
        inputs.analyze = analyze_from_json(document.at("analyze"));
        inputs.spec = read_from(run, files.spec(), kMostText);
        if (!agent::decode_job(read_from(run, files.setup_job(), kMostJob), inputs.setup) ||
            !agent::decode_job(read_from(run, files.workload_job(), kMostJob), inputs.workload))
            fail(ErrorKind::trace, "the jobs of {} are damaged", where);
        guest::validate(inputs.config);
    } catch (const json::exception &) {
        fail(ErrorKind::trace, "inputs.json of {} is damaged", where);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::trace)
            throw;
        fail(ErrorKind::trace, "{} cannot be recorded again: {}", where, error.what());
    }
    return inputs;
}

bool record_the_same(const RecordInputs &a, const RecordInputs &b)
{
    return config_to_json(a.config) == config_to_json(b.config) && a.setup == b.setup &&
           a.workload == b.workload && a.workload_step == b.workload_step &&
           a.host_time_limit == b.host_time_limit && a.stacks == b.stacks;
}

std::string judgement_text(const RunFiles &files)
{
    json document =
        json::parse(read_from(files.folder(), files.inputs(), kMostText), nullptr, false);
    if (!document.is_object() || !document.contains("test") || !document["test"].is_object())
        fail(ErrorKind::trace, "inputs.json of {} is damaged", files.directory.string());
    document["test"].erase("oracles");
    return document["test"].dump();
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

json summary(const RunFiles &files, const RecordResult &result)
{
    return {{"run", files.directory.string()},
            {"end", to_string(result.end)},
            {"outcome", result.outcome},
            {"events", result.event_count},
            {"stores", result.stores},
            {"event_digest", result.event_digest},
            {"effect_digest", result.effect_digest},
            {"final_digests", result.final_digests},
            {"complete", result.complete()},
            {"differing_lines", result.differing_lines},
            {"guest_seconds", static_cast<double>(result.guest_usec) / 1e6},
            {"setup_seconds", result.setup_seconds},
            {"record_seconds", result.record_seconds}};
}

void save_results(const RunFiles &files, const RecordInputs &inputs, const RecordResult &result,
                  const guest::Template &source)
{
    const agent::JobReport &report = result.report;
    const Folder run = files.folder();
    write_to(
        run, files.kallsyms(),
        compressed(report.kallsyms.empty() ? read_file(source.kallsyms_file()) : report.kallsyms));
    write_to(run, files.modules(),
             report.modules.empty() ? read_file(source.modules_file()) : report.modules);
    write_to(run, files.console(), result.console);
    write_to(run, files.kernel_log(), report.kernel_log);
    const bool ran = inputs.workload_step < report.steps.size();
    write_to(run, files.output(), ran ? report.steps[inputs.workload_step].run.output : "");
    write_to(run, files.errors(), ran ? report.steps[inputs.workload_step].run.errors : "");
    // Last: a run with a summary has everything.
    write_to(run, files.summary(), summary(files, result).dump(2) + "\n");
}

json load_summary(const RunFiles &files)
{
    return json::parse(read_from(files.folder(), files.summary(), kMostText), nullptr, false);
}

} // namespace fencepost::record
