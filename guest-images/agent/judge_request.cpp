// SPDX-License-Identifier: GPL-2.0-or-later
// See judge_request.h.
#include "guest-images/agent/judge_request.h"

#include "guest-images/agent/clock.h"
#include "guest-images/agent/mount_requests.h"
#include "guest-images/agent/run_request.h"
#include "guest-images/agent/tree_dump.h"
#include "guest-images/agent/usable.h"

namespace fencepost::agent {

namespace {

class Steps {
public:
    explicit Steps(JudgeReply &reply) : reply_(reply) {}

    // `action` returns an Outcome. True: done.
    template <typename Action> bool run(JudgeStep step, Action action)
    {
        const std::uint64_t start = monotonic_usec();
        const auto outcome = action();
        StepResult result = {step, 0, "", monotonic_usec() - start};
        if (const auto *failed = std::get_if<Failure>(&outcome)) {
            result.error_number = failed->error_number;
            result.message = failed->message;
        }
        reply_.steps.push_back(result);
        return result.error_number == 0;
    }

private:
    JudgeReply &reply_;
};

struct Done {};

void look_at(const JudgeRequest &request, JudgeReply &reply)
{
    Steps steps(reply);
    const std::string &root = request.mount.target;
    // The trial goes through the tree's directories, so it needs one too; without contents.
    if (request.dump || request.usable)
        steps.run(JudgeStep::dump, [&]() -> Outcome<Done> {
            KnownBlocks known(request.known_blocks);
            TreeLimits limits = request.limits;
            if (!request.dump)
                limits.blocks = 0, limits.content_bytes = 0;
            reply.tree = dump_tree(root, limits, known);
            return Done();
        });
    if (!request.command.argv.empty())
        steps.run(JudgeStep::command, [&] {
            Outcome<RunReply> outcome = run_and_clear(request.command);
            if (auto *ran = std::get_if<RunReply>(&outcome))
                reply.command = *ran;
            return outcome;
        });
    if (request.usable)
        steps.run(JudgeStep::usable, [&]() -> Outcome<Done> {
            reply.problems = try_directories(root, reply.tree);
            return Done();
        });
    if (!request.dump)
        reply.tree = {};
}

} // namespace

Outcome<JudgeReply> judge_image(const JudgeRequest &request, std::optional<KernelLogTail> &log)
{
    JudgeReply reply;
    if (request.whole_log || !log)
        log.emplace(request.whole_log ? LogFrom::oldest : LogFrom::now);
    Steps steps(reply);
    const bool mounts = !request.mount.fstype.empty();
    if (!mounts || steps.run(JudgeStep::mount, [&] { return mount_file_system(request.mount); })) {
        look_at(request, reply);
        if (mounts)
            reply.still_mounted =
                !steps.run(JudgeStep::unmount, [&] { return unmount_file_system({request.mount.target, 0}); });
    }
    reply.kernel_log = log->text();
    reply.log_failure = log->failure();
    return reply;
}

} // namespace fencepost::agent
