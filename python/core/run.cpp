// SPDX-License-Identifier: GPL-2.0-or-later
// A run's findings and summary, as JSON: the documents that the command prints.
#include <nlohmann/json.hpp>

#include "analyzer/findings/find.h"
#include "analyzer/report/run_json.h"
#include "base/json.h"
#include "python/core/core.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/run/info_json.h"
#include "replayer/run/run_directory.h"

namespace fencepost::python {

namespace {

// As `fencepost show RUN`, or of one finding as `fencepost show RUN FINDING`.
std::string findings_json(const std::string &path, const std::string &finding)
{
    const collect::OpenedRun run(run::open_run(path), path);
    const collect::FoundSoFar found = collect::found_so_far(run);
    if (finding.empty())
        return json_text(report::list_json(found.findings, found.outcome));
    collect::FindingShower shower(run);
    report::ShownFinding shown = shower.show(findings::find(found.findings, finding));
    shower.add_timeline(shown);
    return json_text(report::to_json(shown));
}

std::string info_json(const std::string &path, std::size_t top)
{
    return json_text(run::info_json(trace::TraceReader(run::trace_of(path)), top));
}

} // namespace

void add_run(py::module_ &module)
{
    module.def(
        "findings",
        [](const std::string &run, const std::string &finding) {
            return long_call([&] { return findings_json(run, finding); });
        },
        py::arg("run"), py::arg("finding") = "");
    module.def(
        "info",
        [](const std::string &run, std::size_t top) {
            return long_call([&] { return info_json(run, top); });
        },
        py::arg("run"), py::arg("top"));
    module.def("open_run", [](const std::string &path) {
        return long_call([&] { return run::open_run(path).directory.string(); });
    });
}

} // namespace fencepost::python
