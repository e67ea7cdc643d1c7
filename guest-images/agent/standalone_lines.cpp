// SPDX-License-Identifier: GPL-2.0-or-later
// See standalone.h: the lines, which host and guest must agree about.
#include "guest-images/agent/standalone.h"
#include "guest-images/agent/tree_digest.h"

namespace fencepost::agent {

namespace {

const char *name_of(JudgeStep step)
{
    switch (step) {
    case JudgeStep::mount:
        return "mount";
    case JudgeStep::dump:
        return "tree";
    case JudgeStep::command:
        return "recovery command";
    case JudgeStep::usable:
        return "trial";
    case JudgeStep::unmount:
        return "unmount";
    case JudgeStep::remove:
        return "removal";
    }
    return "step";
}

// The last line that is not empty.
std::string last_words(const std::string &text)
{
    const std::size_t last = text.find_last_not_of('\n');
    if (last == std::string::npos)
        return "";
    const std::size_t before = text.rfind('\n', last);
    const std::size_t first = before == std::string::npos ? 0 : before + 1;
    return text.substr(first, last + 1 - first);
}

} // namespace

std::string tree_line(const TreeDump &tree)
{
    return "tree " + tree_digest(tree) + ", " + std::to_string(tree.entries.size()) + " names";
}

std::string space_line(const SpaceUse &use)
{
    return "in use when everything was removed: " + std::to_string(use.blocks) + " blocks, " +
           std::to_string(use.inodes) + " inodes";
}

std::string command_line(const RunReply &reply)
{
    const std::string what =
        reply.end == RunEnd::signalled
            ? "the recovery command was killed by signal " + std::to_string(reply.code)
        : reply.end == RunEnd::timed_out
            ? "the recovery command did not end in its time"
            : "the recovery command ended with status " + std::to_string(reply.code);
    const std::string words = last_words(reply.errors.empty() ? reply.output : reply.errors);
    return words.empty() ? what : what + ": " + words;
}

std::string step_line(JudgeStep step)
{
    return std::string("step: ") + name_of(step);
}

} // namespace fencepost::agent
