// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `intact`: the recovered tree does not contradict itself. It knows
// nothing about the workload, so it judges also those that have no legal trees.
#include <algorithm>
#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "replayer/oracle/history.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::oracle {

using agent::TreeEntry;
using nlohmann::json;

namespace {

constexpr std::size_t kProblemLimit = 8;
constexpr std::ptrdiff_t kDepthLimit = 63; // slashes in the path of the deepest directory of a dump

// "link count: a/b", the same each time, and what is wrong with it in words.
struct Problem {
    std::string summary;
    std::string detail;
};

class IntactOracle : public Oracle {
public:
    explicit IntactOracle(const std::string &name) : Oracle(name, agent::JudgeStep::dump) {}

    // Contents are read, and not sent for this oracle.
    void ask(agent::JudgeRequest &request) const override
    {
        if (!request.dump)
            request.limits.blocks = 0;
        request.dump = true;
    }

    void judge(const Hearing &hearing, Judgement &judgement) const override
    {
        if (!hearing.request.dump)
            return;
        const std::vector<TreeEntry> &entries = hearing.reply.tree.entries;
        const bool whole = is_whole(entries, hearing.request.limits.entries);
        std::vector<Problem> problems = problems_of(entries, whole);
        if (hearing.question.crashed)
            judgement.masked += static_cast<unsigned>(std::erase_if(
                problems, [&](const Problem &each) { return is_masked(each.summary); }));
        if (problems.size() > kProblemLimit)
            problems.resize(kProblemLimit);
        // Of a healthy image each of them: that is what is masked.
        if (!hearing.question.crashed)
            for (const Problem &each : problems)
                add(std::span(&each, 1), judgement);
        else if (!problems.empty())
            add(problems, judgement);
        if (!whole)
            add_evidence(judgement, {name(),
                                     Verdict::infra_error,
                                     "the tree has too many names, or too deep ones, to be looked "
                                     "at whole",
                                     {}});
    }

private:
    void add(std::span<const Problem> problems, Judgement &judgement) const
    {
        json all = json::array();
        for (const Problem &each : problems)
            all.push_back(fmt::format("{}: {}", each.summary, each.detail));
        add_evidence(judgement,
                     {name(), Verdict::inconsistent, problems.front().summary,
                      Details(json{{"problems", all}}),
                      fmt::format("{}: {}", problems.front().summary, problems.front().detail)});
    }

    // A dump leaves out what is beyond its limits.
    static bool is_whole(const std::vector<TreeEntry> &entries, std::size_t limit)
    {
        return !entries.empty() && entries.size() < limit &&
               std::none_of(entries.begin(), entries.end(), [](const TreeEntry &entry) {
                   return entry.type == agent::FileType::directory &&
                          std::count(entry.path.begin(), entry.path.end(), '/') >= kDepthLimit;
               });
    }

    static std::vector<Problem> problems_of(const std::vector<TreeEntry> &entries, bool whole)
    {
        std::vector<Problem> problems;
        for (const TreeEntry &entry : entries)
            if (!entry.failed_step.empty())
                problems.push_back({fmt::format("cannot {}: {}", entry.failed_step, entry.path),
                                    fmt::format("error {}", entry.error_number)});
        const Tree tree(entries);
        for (const std::string &path : tree.listed_twice())
            problems.push_back({"twice: " + path, "its directory lists it more than once"});
        if (whole)
            add_links(entries, problems);
        return problems;
    }

    // Of directories file systems count links in ways of their own, but each has
    // one name.
    static void add_links(const std::vector<TreeEntry> &entries, std::vector<Problem> &problems)
    {
        std::map<std::uint64_t, std::vector<const TreeEntry *>> inodes;
        for (const TreeEntry &entry : entries)
            if (entry.failed_step != "stat")
                inodes[entry.inode].push_back(&entry);
        for (const auto &[inode, names] : inodes) {
            const TreeEntry &first = *names.front();
            const bool same_type =
                std::all_of(names.begin(), names.end(),
                            [&](const TreeEntry *each) { return each->type == first.type; });
            const std::size_t links =
                first.type == agent::FileType::directory ? 1 : first.link_count;
            if (!same_type)
                problems.push_back(
                    {"type: " + names.back()->path,
                     fmt::format("another type than {}, the same inode", first.path)});
            else if (links != names.size())
                problems.push_back(
                    {"link count: " + first.path,
                     fmt::format("{} names, and the inode says {}", names.size(), links)});
        }
    }
};

} // namespace

std::unique_ptr<Oracle> make_intact_oracle(const std::string &name, const JudgeSettings &)
{
    return std::make_unique<IntactOracle>(name);
}

} // namespace fencepost::oracle
