// SPDX-License-Identifier: GPL-2.0-or-later
// What verbs do: the same library calls, and the documents that the command prints.
#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pybind11/stl.h>

#include "analyzer/report/json.h"
#include "analyzer/report/run_formats.h"
#include "base/error.h"
#include "base/json.h"
#include "base/places.h"
#include "python/core/core.h"
#include "python/core/options.h"
#include "replayer/guest/machine.h"
#include "replayer/record/record_json.h"
#include "replayer/record/record_run.h"
#include "replayer/record/summary.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/report/collect.h"
#include "replayer/run/run_directory.h"
#include "replayer/states/walk_names.h"
#include "replayer/test/exploration.h"
#include "replayer/test/minimize_request.h"
#include "replayer/test/progress_text.h"
#include "replayer/test/reproduction.h"
#include "replayer/test/test_json.h"
#include "replayer/test/test_request.h"

namespace fencepost::python {

namespace {

using nlohmann::json;

std::string record(const std::string &spec_text, const std::string &spec_name,
                   const std::string &run, const Options &options, Callback &told)
{
    const std::string directory = options.text("directory");
    const bool stacks = options.optional<bool>("stacks").value_or(true);
    const bool force = options.optional<bool>("force").value_or(false);
    return long_call(
        [&] {
            run::check_run_name(run);
            run::Spec spec =
                run::parse_spec(spec_text, spec_name, directory, run::FilesFrom::anywhere);
            collect::rule_files(spec.analyze).order_file(); // mistakes in them are told now
            const auto events = [&](std::uint64_t count) {
                told([&] {
                    py::dict numbers;
                    numbers["events"] = count;
                    return py::make_tuple("recording: " + std::to_string(count) + " events",
                                          numbers);
                });
            };
            const record::RecordResult result = record::record_run(
                {std::move(spec), run, stacks, force}, cache_directory(), {lines_to(told), events});
            record::require_complete(result);
            json document = record::summary({run}, result);
            document["warnings"] = record::warnings_json({run});
            return json_text(document);
        },
        &told);
}

std::string verify(const std::string &run, const Options &options, Callback &told)
{
    const unsigned times = options.optional<unsigned>("times").value_or(1);
    return long_call(
        [&] {
            return json_text(record::verification_json(
                record::verify_run(run::open_run(run), cache_directory(), times, lines_to(told))));
        },
        &told);
}

std::string analyze(const std::string &run, const Options &options, Callback &)
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
    return long_call([&] {
        const std::filesystem::path trace = run::trace_of(run);
        return json_text(report::to_json(
            rules::analyze(trace, {settings, collect::rule_files(trace, more), known})));
    });
}

test::TestRequest test_request(const Options &options)
{
    states::WalkNames names = {.strategy = test::kDefaultStrategy};
    options.take("model", names.model);
    options.take("fences", names.fences);
    options.take("strategy", names.strategy);
    options.take("seed", names.seed);
    options.take("group", names.group);
    test::TestRequest request;
    request.walk = states::walk_options(names);
    if (options.optional<std::string>("strategy"))
        request.strategies = request.walk.strategies;
    options.take("window", request.window);
    options.take("incidental", request.incidental);
    options.take("oracles", request.oracles);
    options.take("jobs", request.jobs);
    options.take("limit", request.limit);
    options.take("bugs", request.bugs);
    options.take("backend", request.backend);
    options.take("confirm", request.confirm);
    options.take("restart", request.restart);
    options.take("fresh", request.fresh);
    request.accelerator = guest::parse_accelerator(options.accelerator());
    request.duration = options.seconds("seconds");
    request.minimize = options.seconds("minimize_seconds").value_or(std::chrono::seconds(0));
    test::check_request(request);
    return request;
}

void show(Callback &told, const test::TestProgress &now)
{
    told([&] {
        py::dict numbers;
        numbers["tested"] = now.tested;
        numbers["findings"] = now.findings;
        numbers["infra_errors"] = now.infra_errors;
        numbers["seconds"] = now.seconds;
        if (now.seconds_left)
            numbers["seconds_left"] = *now.seconds_left;
        return py::make_tuple(test::progress_text(now), numbers);
    });
}

std::string test(const std::string &run, const Options &options, Callback &told)
{
    const test::TestRequest request = test_request(options);
    return long_call(
        [&] {
            const run::RunFiles files = run::open_run(run);
            const test::TestReport report = test::test_recorded(
                files, cache_directory(), request,
                {lines_to(told), [&](const test::TestProgress &now) { show(told, now); }});
            if (report.stop == test::TestStop::interrupted) // what was judged is kept
                fail(ErrorKind::interrupted, "interrupted");
            json document = test::report_json(report);
            document["warnings"] = record::warnings_json(files);
            return json_text(document);
        },
        &told);
}

std::string minimize(const std::string &run, const Options &options, Callback &told)
{
    test::MinimizeRequest request;
    options.take("finding", request.finding);
    options.take("tests", request.tests);
    options.take("incidental", request.incidental);
    options.take("backend", request.backend);
    options.take("force", request.force);
    options.take("workload", request.workload);
    request.accelerator = guest::parse_accelerator(options.accelerator());
    request.duration = options.seconds("seconds");
    return long_call(
        [&] {
            json findings = json::array();
            json workloads = json::array();
            test::minimize_recorded(
                run::open_run(run), cache_directory(), request,
                {lines_to(told), [&](const json &minimal, bool) { findings.push_back(minimal); },
                 [&](const std::string &finding, const auto &found) {
                     if (found)
                         workloads.push_back(test::shortened_json(finding, *found));
                 }});
            return json_text({{"findings", findings}, {"workloads", workloads}});
        },
        &told);
}

std::string reproduce(const std::string &run, const Options &options, Callback &told)
{
    test::StateRequest chosen;
    options.take("oracles", chosen.oracles);
    options.take("incidental", chosen.incidental);
    options.take("backend", chosen.backend);
    chosen.accelerator = guest::parse_accelerator(options.accelerator());
    const std::string name = options.text("name");
    const unsigned times = options.optional<unsigned>("times").value_or(1);
    return long_call(
        [&] {
            guest::check_backend_name(chosen.backend);
            const run::RunFiles files = run::open_run(run);
            const test::NamedState named = test::named_state(files, name, std::move(chosen));
            test::JudgedState state(files, cache_directory(), named.request, lines_to(told));
            const test::Reproduction result =
                test::reproduce(state, named.finding, times, [](const test::Attempt &) {});
            return json_text(test::reproduction_json(result, named));
        },
        &told);
}

// A report in a format, as text; without one the page and its data in the run, and their names.
std::string report(const std::string &run, const Options &options, Callback &told)
{
    const std::string format = options.text("format");
    return long_call(
        [&] {
            const std::vector<std::string> formats = report::run_format_names();
            if (!format.empty() && std::ranges::count(formats, format) == 0)
                fail(ErrorKind::usage, "there is no format '{}'; there are {}", format,
                     fmt::join(formats, ", "));
            const collect::OpenedRun opened(run::open_run(run), run);
            const report::RunReport report = collect::collect_report(
                opened, collect::analyze_run(opened.files()), lines_to(told));
            if (!format.empty())
                return report::render(format, report, {});
            return json_text(
                collect::write_page(opened.files(), report, report::render("html", report, {})));
        },
        &told);
}

using Verb = std::string(const std::string &run, const Options &options, Callback &told);

template <Verb *verb> void add_verb(py::module_ &module, const char *name)
{
    module.def(
        name,
        [](const std::string &run, py::dict options, py::object progress) {
            Callback told(std::move(progress));
            return verb(run, Options(std::move(options)), told);
        },
        py::arg("run"), py::arg("options"), py::arg("progress"));
}

} // namespace

void add_doing(py::module_ &module)
{
    module.def(
        "record",
        [](const std::string &spec, const std::string &name, const std::string &run,
           py::dict options, py::object progress) {
            Callback told(std::move(progress));
            return record(spec, name, run, Options(std::move(options)), told);
        },
        py::arg("spec"), py::arg("name"), py::arg("run"), py::arg("options"), py::arg("progress"));
    add_verb<verify>(module, "verify");
    add_verb<analyze>(module, "analyze");
    add_verb<test>(module, "test");
    add_verb<minimize>(module, "minimize");
    add_verb<reproduce>(module, "reproduce");
    add_verb<report>(module, "report");
}

} // namespace fencepost::python
