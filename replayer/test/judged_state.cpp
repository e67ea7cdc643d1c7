// SPDX-License-Identifier: GPL-2.0-or-later
// See judged_state.h.
#include "replayer/test/judged_state.h"

#include "replayer/image/state_delta.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/states/state_walk.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/pool/worker.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_guest.h"

namespace fencepost::test {

oracle::Judgement judge_state(const run::RunFiles &files, const std::filesystem::path &cache,
                              const StateRequest &request,
                              const std::function<void(const std::string &line)> &say)
{
    const states::CrashState state = states::parse_crash_state(request.state);
    const trace::TraceReader reader(files.trace());
    run::refuse_interrupted(reader);
    const run::Inputs inputs = run::load_inputs(files);
    const trace::IncidentalFences incidental(
        reader, trace::incidental_functions(request.incidental.empty() ? inputs.test.incidental
                                                                       : request.incidental));
    const image::InitialImage initial(reader);
    Assignment assignment = {.state = state, .content = {}, .keep_tree = true};
    assignment.content.step = std::make_shared<image::ImageStep>();
    assignment.content.in_flight = image::delta_of(reader, initial, state, incidental).lines;

    const std::unique_ptr<oracle::Judge> judge = make_run_judge({.run = files,
                                                                 .inputs = inputs,
                                                                 .oracles = request.oracles,
                                                                 .cache = cache,
                                                                 .progress = say});
    const TestGuest guest(cache, request.backend, inputs.config, request.accelerator, say);
    const PmPlace place(cache, guest.source().config, 1);
    const WorkerPlan plan = {
        guest.templates(), guest.source(), initial, *judge, place.path(), true};
    return Worker(plan, 0, assignment.content.step).test(assignment).judgement;
}

} // namespace fencepost::test
