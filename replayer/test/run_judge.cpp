// SPDX-License-Identifier: GPL-2.0-or-later
// See run_judge.h.
#include "replayer/test/run_judge.h"

#include "replayer/record/observe.h"

namespace fencepost::test {

std::unique_ptr<oracle::Judge> make_run_judge(oracle::JudgeSettings settings)
{
    settings.observe = [run = settings.run, inputs = settings.inputs, cache = settings.cache,
                        progress = settings.progress](const std::string &file_system) {
        return record::observe_workload(run, inputs, cache, progress, file_system);
    };
    return oracle::make_judge(settings);
}

} // namespace fencepost::test
