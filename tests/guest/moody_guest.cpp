// SPDX-License-Identifier: GPL-2.0-or-later
// See moody_guest.h.
#include "tests/guest/moody_guest.h"

#include "base/error.h"
#include "base/places.h"
#include "tests/guest/kernel_module.h"
#include "tests/guest/whole_guest.h"

namespace fencepost::test {

using namespace guest;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kData = 2 << 20; // where the device begins in PM

World &world()
{
    static World world("process", [] {
        GuestConfig config;
        config.pm[0].size = 16 << 20;
        return config;
    }());
    return world;
}

const std::string &module()
{
    static const std::string bytes = [] {
        const TemporaryDirectory directory("/tmp", "fp-moodfs-");
        return read_file(build_kernel_module(world().source().kernel_release, {MOODFS_SOURCE},
                                             directory.path()));
    }();
    return bytes;
}

image::InitialImage initial_image()
{
    const std::string bytes = read_file(world().new_pm_file());
    const trace::Region region = {.id = 1,
                                  .name = "pmem0",
                                  .base = pm_base(world().source().config, 0),
                                  .size = bytes.size(),
                                  .file = "pm0"};
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(bytes))};
    return image::InitialImage({region}, parts);
}

oracle::JudgeSettings settings(std::uint32_t time_limit, std::vector<std::string> recovery)
{
    oracle::JudgeSettings settings;
    settings.inputs.config = world().source().config;
    agent::JobStep mount;
    mount.kind = agent::StepKind::mount;
    mount.mount = {"/dev/pmem0", "/mnt/pm", "moodfs", ""};
    settings.inputs.workload.steps = {mount};
    settings.inputs.mount = run::mount_of(settings.inputs.workload, settings.inputs.config.pm);
    settings.inputs.test.time_limit = time_limit;
    settings.oracles = {"mount"};
    if (!recovery.empty())
        settings.oracles.emplace_back("program");
    settings.inputs.test.recovery = std::move(recovery);
    settings.cache = cache_directory();
    return settings;
}

} // namespace

void MoodyJudge::prepare(JudgedGuest &judged)
{
    Guest &guest = whole(judged);
    guest.with_agent([&](AgentClient &agent) {
        if (!agent.write_whole_file("/tmp/moodfs.ko", module_, 0644, soon()))
            fail(ErrorKind::guest, "the guest cannot take the module");
    });
    const RunReply loaded = run_in(guest, {"insmod", "/tmp/moodfs.ko"});
    if (!loaded.success())
        fail(ErrorKind::guest, "the module cannot be loaded: {}", loaded.errors);
    judge_->prepare(guest);
}

MoodyWorker::MoodyWorker(std::uint32_t time_limit, std::vector<std::string> recovery)
    : world_(world()), directory_("/dev/shm", "fp-moody-"), initial_(initial_image()),
      judge_(oracle::make_judge(settings(time_limit, std::move(recovery))), module()),
      plan_{world_.store(), world_.source(), initial_, judge_, directory_.path()},
      worker_(std::make_unique<Worker>(plan_, 0, first_))
{
}

Outcome MoodyWorker::test(char mood, bool crashed)
{
    Assignment assignment;
    assignment.image = ++count_;
    assignment.state.seq = count_;
    assignment.crashed = crashed;
    assignment.content.step = first_;
    image::LineContent line = {.line = (pm_base(world_.source().config, 0) + kData) / 64};
    line.bytes[0] = static_cast<std::byte>(mood);
    assignment.content.in_flight = {line};
    return worker_->test(assignment);
}

} // namespace fencepost::test
