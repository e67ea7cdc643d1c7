// SPDX-License-Identifier: GPL-2.0-or-later
// A recorded run in a directory of its own, for tests that go on with it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/places.h"
#include "replayer/oracle/image_judge.h"
#include "replayer/record/names.h"
#include "replayer/record/recorder.h"
#include "replayer/record/summary.h"
#include "replayer/run/inputs.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_run.h"

namespace fencepost::test {

class RecordedRun {
public:
    explicit RecordedRun(const std::string &spec, const std::string &backend = "process")
        : directory_("/tmp", "fp-run-"), files_{directory_.path()}
    {
        const auto quiet = [](const std::string &) {};
        record::Recorder recorder(cache_directory(), {quiet, {}});
        const run::Spec parsed =
            run::parse_spec(spec, "spec.toml", directory_.path(), run::FilesFrom::spec_directory);
        inputs_ = recorder.prepare(parsed, true);
        run::save_inputs(files_, inputs_);
        const record::RecordResult result = recorder.record(
            inputs_, files_.trace(), [&](std::size_t device) { return files_.final_pm(device); });
        if (result.end != run::WorkloadEnd::finished || !result.complete())
            fail(ErrorKind::guest, "the workload was not recorded: {}", result.outcome);
        record::save_results(files_, inputs_, result, recorder.template_of(inputs_));
        // Which stores are the block driver's, whose sectors do not tear, is told by names.
        record::name_code(files_, parsed, recorder.template_of(inputs_), cache_directory());
        guest_.emplace(cache_directory(), backend, inputs_.config, guest::Accelerator::tcg, quiet);
    }

    const run::RunFiles &files() const { return files_; }
    const TestGuest &guest() const { return *guest_; }
    std::unique_ptr<oracle::Judge> judge(const std::vector<std::string> &oracles,
                                         bool closing_checks = true) const
    {
        return make_run_judge({.run = files_,
                               .inputs = inputs_,
                               .oracles = oracles,
                               .cache = cache_directory(),
                               .progress = [](const std::string &) {},
                               .closing_checks = closing_checks});
    }

private:
    TemporaryDirectory directory_;
    run::RunFiles files_;
    run::Inputs inputs_;
    std::optional<TestGuest> guest_;
};

inline const char *const kSmallSpec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "script"
text = """
mkdir d
echo hello >d/greeting
sync
mv d/greeting d/welcome
dd if=/dev/zero of=d/data bs=4096 count=20 2>/dev/null
sync
ln d/welcome d/again
echo more >>d/again
sync
rm d/welcome
sync
"""
)";

} // namespace fencepost::test
