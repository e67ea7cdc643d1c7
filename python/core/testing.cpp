// SPDX-License-Identifier: GPL-2.0-or-later
// The verbs that test: test, minimize and reproduce, with oracles and strategies of the user's.
#include <chrono>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "python/core/own.h"
#include "python/core/verb.h"
#include "replayer/guest/machine.h"
#include "replayer/record/record_json.h"
#include "replayer/run/run_directory.h"
#include "replayer/states/walk_names.h"
#include "replayer/test/minimize_request.h"
#include "replayer/test/progress_text.h"
#include "replayer/test/reproduction.h"
#include "replayer/test/test_json.h"
#include "replayer/test/test_request.h"

namespace fencepost::python {

namespace {

using nlohmann::json;

// What test, minimize and reproduce have in common.
template <typename Request>
void take_judges(const Options &options, Callback &user, Request &request)
{
    options.take("incidental", request.incidental);
    options.take("backend", request.backend);
    request.own_oracles = own_oracles(options, user);
    request.accelerator = guest::parse_accelerator(options.accelerator());
}

test::TestRequest test_request(const Options &options, Callback &user)
{
    test::TestRequest request;
    request.walk = walk_options(options);
    if (std::vector<states::Strategy> given = strategies(options, user); !given.empty())
        request.strategies = std::move(given);
    take_judges(options, user, request);
    options.take("oracles", request.oracles);
    options.take("window", request.window);
    options.take("jobs", request.jobs);
    options.take("limit", request.limit);
    options.take("bugs", request.bugs);
    options.take("confirm", request.confirm);
    if (!(request.confirm >= 0 && request.confirm <= 1))
        fail(ErrorKind::usage, "confirm cannot be {}: it is a share, from 0 to 1", request.confirm);
    options.take("restart", request.restart);
    options.take("fresh", request.fresh);
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

auto test(const std::string &run, const Options &options, Callback &told)
{
    return [run, request = test_request(options, told), &told] {
        const StopsUserCode stops(told);
        const run::RunFiles files = run::open_run(run);
        const test::TestReport report = test::test_recorded(
            files, cache_directory(), request,
            {lines_to(told), [&](const test::TestProgress &now) { show(told, now); }});
        if (report.stop == test::TestStop::interrupted) // what was judged is kept
            fail(ErrorKind::interrupted, "interrupted");
        json document = test::report_json(report);
        document["warnings"] = record::warnings_json(files);
        return document;
    };
}

auto minimize(const std::string &run, const Options &options, Callback &told)
{
    test::MinimizeRequest request;
    take_judges(options, told, request);
    options.take("finding", request.finding);
    options.take("tests", request.tests);
    options.take("force", request.force);
    options.take("workload", request.workload);
    request.duration = options.seconds("seconds");
    return [run, request, &told] {
        const StopsUserCode stops(told);
        json findings = json::array();
        json workloads = json::array();
        test::minimize_recorded(run::open_run(run), cache_directory(), request,
                                {lines_to(told),
                                 [&](const json &minimal, bool) { findings.push_back(minimal); },
                                 [&](const std::string &finding, const auto &found) {
                                     if (found)
                                         workloads.push_back(test::shortened_json(finding, *found));
                                 }});
        return json({{"findings", findings}, {"workloads", workloads}});
    };
}

auto reproduce(const std::string &run, const Options &options, Callback &told)
{
    test::StateRequest chosen;
    take_judges(options, told, chosen);
    options.take("oracles", chosen.oracles);
    const unsigned times = options.optional<unsigned>("times").value_or(1);
    if (times == 0)
        fail(ErrorKind::usage, "times cannot be 0: nothing would be reproduced");
    return [run, chosen, name = options.text("name"), times, &told] {
        const StopsUserCode stops(told);
        guest::check_backend_name(chosen.backend);
        const run::RunFiles files = run::open_run(run);
        const test::NamedState named = test::named_state(files, name, chosen);
        test::JudgedState state(files, cache_directory(), named.request, lines_to(told));
        const test::Reproduction result =
            test::reproduce(state, named.finding, times, [](const test::Attempt &) {});
        return test::reproduction_json(result, named);
    };
}

} // namespace

void add_testing(py::module_ &module)
{
    add_verb<test>(module, "test");
    add_verb<minimize>(module, "minimize");
    add_verb<reproduce>(module, "reproduce");
    add_own_classes(module);
}

} // namespace fencepost::python
