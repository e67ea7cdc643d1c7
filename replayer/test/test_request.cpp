// SPDX-License-Identifier: GPL-2.0-or-later
// See test_request.h.
#include "replayer/test/test_request.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "replayer/oracle/oracle_choice.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/states/trace_options.h"
#include "replayer/test/exploration.h"
#include "replayer/test/run_judge.h"
#include "trace/journal.h"

namespace fencepost::test {

namespace {

std::string joined(std::vector<std::string> names)
{
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ",") + name;
    return text;
}

// Before any guest starts.
void check_earlier(const run::RunFiles &files, const trace::TraceReader &reader,
                   const TestRequest &request, const std::string &oracles)
{
    if (!request.restart)
        check_results(files.results(), {reader.recording().event_digest, oracles});
}

} // namespace

void check_request(const TestRequest &request)
{
    if (request.limit == 0)
        fail(ErrorKind::usage, "--limit 0 would test nothing");
    if (request.bugs == 0)
        fail(ErrorKind::usage, "--bugs 0 would test nothing");
    if (!request.window.empty())
        states::check_window(request.window);
    guest::check_backend_name(request.backend);
}

void check_oracles(const TestRequest &request, const run::Spec &spec)
{
    oracle::check_oracles(request.oracles.empty() ? spec.test.oracles : request.oracles,
                          spec.file_system ? spec.file_system->type : "",
                          !spec.test.recovery.empty());
}

TestReport test_recorded(const run::RunFiles &files, const std::filesystem::path &cache,
                         const TestRequest &request, const TestListener &listener)
{
    check_request(request);
    const FileLock lock = run::lock_run(files);
    run::check_folders(files);
    trace::roll_back(files.trace()); // of a process that was killed while it gave names to code
    const trace::TraceReader reader(files.trace());
    run::refuse_unfinished(reader); // the lock is ours: nobody records
    states::require_complete(reader);
    if (!request.oracles.empty())
        check_earlier(files, reader, request, joined(request.oracles));
    const run::Inputs inputs = run::load_inputs(files);
    const std::vector<std::string> &oracles =
        request.oracles.empty() ? inputs.test.oracles : request.oracles;
    if (request.oracles.empty())
        check_earlier(files, reader, request, joined(oracles));

    TestOptions options;
    options.oracles = joined(oracles);
    options.walk =
        states::in_trace(request.walk, reader, request.window,
                         request.incidental.empty() ? inputs.test.incidental : request.incidental);
    options.own_modules = run::own_programs(inputs);
    options.jobs =
        request.jobs != 0 ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
    options.limit = request.limit;
    options.bugs = request.bugs;
    options.known = request.known;
    options.duration = request.duration;
    options.minimize = request.minimize;
    options.confirm = request.confirm;
    options.restart = request.restart;
    options.always_fresh = request.fresh;
    options.say = listener.say;
    const std::unique_ptr<oracle::Judge> judge = make_run_judge({.run = files,
                                                                 .inputs = inputs,
                                                                 .oracles = request.oracles,
                                                                 .own = request.own_oracles,
                                                                 .cache = cache,
                                                                 .progress = listener.say});
    const Exploration exploration =
        choose_exploration(request.strategies, judge->promise(), judge->user_oracle());
    options.walk.strategies = exploration.strategies;
    options.walk.tearing = exploration.tearing;
    const TestGuest guest(cache, request.backend, inputs.config, request.accelerator, listener.say);
    options.producers = producers_of(cache, guest.source().config.image, files, inputs, oracles,
                                     request.own_oracles);
    return test_run(files, guest, *judge, options, listener.progress);
}

} // namespace fencepost::test
