// SPDX-License-Identifier: GPL-2.0-or-later
// What verbs do before and after a test: the same library calls, and the documents that the command
// prints. Those that test are in testing.cpp.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "analyzer/report/run_formats.h"
#include "base/error.h"
#include "base/places.h"
#include "python/core/verb.h"
#include "replayer/record/record_json.h"
#include "replayer/record/record_run.h"
#include "replayer/record/summary.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/report/collect.h"
#include "replayer/run/run_directory.h"

namespace fencepost::python {

namespace {

using nlohmann::json;

// Options `spec` and `name`: a spec as text, and what messages call it.
auto record(const std::string &run, const Options &options, Callback &told)
{
    return [run, text = options.text("spec"), name = options.text("name"),
            directory = options.text("directory"),
            stacks = options.optional<bool>("stacks").value_or(true),
            force = options.optional<bool>("force").value_or(false), &told] {
        run::check_run_name(run);
        run::Spec spec = run::parse_spec(text, name, directory, run::FilesFrom::anywhere);
        collect::rule_files(spec.analyze).order_file(); // mistakes in them are told now
        const auto events = [&](std::uint64_t count) {
            told([&] {
                py::dict numbers;
                numbers["events"] = count;
                return py::make_tuple("recording: " + std::to_string(count) + " events", numbers);
            });
        };
        const record::RecordResult result = record::record_run(
            {std::move(spec), run, stacks, force}, cache_directory(), {lines_to(told), events});
        record::require_complete(result);
        json document = record::summary({run}, result);
        document["warnings"] = record::warnings_json({run});
        return document;
    };
}

auto verify(const std::string &run, const Options &options, Callback &told)
{
    return [run, times = options.optional<unsigned>("times").value_or(1), &told] {
        return record::verification_json(
            record::verify_run(run::open_run(run), cache_directory(), times, lines_to(told)));
    };
}

auto analyze(const std::string &run, const Options &options, Callback &)
{
    rules::Settings settings = rules::settings_named(options.text("model"), options.text("fences"),
                                                     options.text("persistency"));
    options.take("durable_operations", settings.durable_operations);
    options.take("rules", settings.rules);
    rules::check_rule_names(settings.rules);
    collect::RuleFileNames more;
    options.take("transactions", more.transactions);
    options.take("order", more.order);
    options.take("suppressions", more.suppressions);
    const bool known = options.optional<bool>("show_known_code").value_or(false);
    return [run, settings, more, known] {
        const std::filesystem::path trace = run::trace_of(run);
        return report::to_json(
            rules::analyze(trace, {settings, collect::rule_files(trace, more), known}));
    };
}

// A report in a format, as text; without one the page and its data in the run, and their names.
auto report(const std::string &run, const Options &options, Callback &told)
{
    return [run, format = options.text("format"), &told]() -> std::string {
        const std::vector<std::string> formats = report::run_format_names();
        if (!format.empty() && std::ranges::count(formats, format) == 0)
            fail(ErrorKind::usage, "there is no format '{}'; there are {}", format,
                 fmt::join(formats, ", "));
        const collect::OpenedRun opened(run::open_run(run), run);
        const report::RunReport report =
            collect::collect_report(opened, collect::analyze_run(opened.files()), lines_to(told));
        if (!format.empty())
            return report::render(format, report, {});
        return json_text(
            collect::write_page(opened.files(), report, report::render("html", report, {})));
    };
}

} // namespace

void add_doing(py::module_ &module)
{
    add_verb<record>(module, "record");
    add_verb<verify>(module, "verify");
    add_verb<analyze>(module, "analyze");
    add_verb<report>(module, "report");
}

} // namespace fencepost::python
