// SPDX-License-Identifier: GPL-2.0-or-later
// See summary.h.
#include "replayer/record/summary.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "trace/compression.h"

namespace fencepost::record {

using nlohmann::json;

namespace {

constexpr int kCompressionLevel = 3;

std::string compressed(const std::string &text)
{
    const std::vector<std::byte> frame =
        trace::Compressor(kCompressionLevel)
            .compress(std::as_bytes(std::span(text.data(), text.size())));
    return {reinterpret_cast<const char *>(frame.data()), frame.size()};
}

// Of one file of the run: by its name, wherever the path to the run leads by now.
void write(const Folder &folder, const std::filesystem::path &file, std::string_view text)
{
    folder.write(file.filename(), text);
}

} // namespace

json summary(const run::RunFiles &files, const RecordResult &result)
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

void save_results(const run::RunFiles &files, const run::Inputs &inputs, const RecordResult &result,
                  const guest::Template &source)
{
    const agent::JobReport &report = result.report;
    const Folder folder = files.folder();
    write(
        folder, files.kallsyms(),
        compressed(report.kallsyms.empty() ? read_file(source.kallsyms_file()) : report.kallsyms));
    write(folder, files.modules(),
          report.modules.empty() ? read_file(source.modules_file()) : report.modules);
    write(folder, files.console(), result.console);
    write(folder, files.kernel_log(), report.kernel_log);
    const bool ran = inputs.workload_step < report.steps.size();
    write(folder, files.output(), ran ? report.steps[inputs.workload_step].run.output : "");
    write(folder, files.errors(), ran ? report.steps[inputs.workload_step].run.errors : "");
    // Last: a run with a summary has everything.
    write(folder, files.summary(), json_document(summary(files, result), BadUtf8::refuse));
}

json load_summary(const run::RunFiles &files)
{
    return json_or_discarded(files.folder().read(files.summary().filename(), run::kMostText));
}

bool workload_finished(const json &summary)
{
    return summary.is_object() && summary.value("end", "") == to_string(run::WorkloadEnd::finished);
}

} // namespace fencepost::record
