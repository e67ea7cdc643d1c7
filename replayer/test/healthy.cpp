// SPDX-License-Identifier: GPL-2.0-or-later
// See healthy.h.
#include "replayer/test/healthy.h"

#include "base/deadline.h"
#include "base/files.h"
#include "replayer/guest/pool/pm_files.h"

namespace fencepost::test {

namespace {

constexpr std::chrono::minutes kRestoreTime(2);

} // namespace

void learn_healthy(const guest::WorkerPlan &plan)
{
    if (!plan.judge.learns())
        return;
    const std::filesystem::path directory = plan.directory / "healthy";
    make_directories(directory);
    guest::PmFiles files(directory, plan.initial, plan.source.config);
    image::HeldImage initial(plan.initial, std::make_shared<const image::ImageStep>());
    files.suspect_everything();
    files.sync(initial);
    const auto guest =
        plan.templates.restore(plan.source, files.paths(), Deadline::after(kRestoreTime));
    plan.judge.prepare(*guest);
    plan.judge.learn({*guest, files.paths(), 0});
}

} // namespace fencepost::test
