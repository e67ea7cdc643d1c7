// SPDX-License-Identifier: GPL-2.0-or-later
// See judge_request.h.
#include "guest-images/agent/judge_request.h"

#include "guest-images/agent/clock.h"
#include "guest-images/agent/mount_requests.h"
#include "guest-images/agent/run_request.h"
#include "guest-images/agent/tree_dump.h"
#include "guest-images/agent/usable.h"
#include "guest-images/agent/usable_removal.h"

namespace fencepost::agent {

namespace {

class Steps {
public:
    Steps(JudgeReply &reply, const TellStep &tell) : reply_(reply), tell_(tell) {}

    // `action` returns an Outcome. True: done.
    template <typename Action> bool run(JudgeStep step, Action action)
    {
        tell_(step);
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
    const TellStep &tell_;
};

struct Done {};

// `tree`: what was dumped before the command, which may have changed it.
Outcome<Done> try_out(const JudgeRequest &request, const TreeDump &tree, TrialResult &result)
{
    const std::string &root = request.mount.target;
    TreeDump names;
    const bool known = request.dump && request.command.argv.empty() && !tree.truncated;
    if (!known) {
        KnownBlocks none("");
        names = dump_tree(root, {request.limits.entries, 0, 0}, none);
    }
    const TreeDump &tried = known ? tree : names;
    try_directories(root, tried, result);
    try_files(root, tried, TrialLimits(), result);
    if (tried.truncated)
        return failure("try names beyond the first " + std::to_string(tried.entries.size()) +
                           ", or below too many directories",
                       EOVERFLOW);
    return Done();
}

void look_at(const JudgeRequest &request, Steps &steps, JudgeReply &reply)
{
    TrialResult result;
    if (request.usable || request.remove)
        reply.used_before = space_in_use(request.mount.target);
    if (request.dump)
        steps.run(JudgeStep::dump, [&]() -> Outcome<Done> {
            KnownBlocks known(request.known_blocks);
            reply.tree = dump_tree(request.mount.target, request.limits, known);
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
        steps.run(JudgeStep::usable, [&] { return try_out(request, reply.tree, result); });
    if (request.remove)
        steps.run(JudgeStep::remove, [&]() -> Outcome<Done> {
            reply.removed = remove_everything(request.mount.target, result);
            reply.used_after = settled_space(request.mount.target, request.expected);
            return Done();
        });
    reply.problems = std::move(result.problems);
    reply.not_tried = std::move(result.not_tried);
}

} // namespace

Outcome<JudgeReply> judge_image(const JudgeRequest &request, std::optional<KernelLogTail> &log,
                                TellStep &tell)
{
    JudgeReply reply;
    if (request.whole_log || !log)
        log.emplace(request.whole_log ? LogFrom::oldest : LogFrom::now);
    Steps steps(reply, tell);
    const bool mounts = !request.mount.fstype.empty();
    if (!mounts || steps.run(JudgeStep::mount, [&] { return mount_file_system(request.mount); })) {
        look_at(request, steps, reply);
        if (mounts)
            reply.still_mounted = !steps.run(JudgeStep::unmount, [&] {
                return unmount_file_system({request.mount.target, 0});
            });
    }
    reply.kernel_log = log->text();
    reply.log_failure = log->failure();
    return reply;
}

} // namespace fencepost::agent
