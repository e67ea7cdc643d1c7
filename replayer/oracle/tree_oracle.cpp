// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_oracle.h.
#include "replayer/oracle/tree_oracle.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/tree_evidence.h"

namespace fencepost::oracle {

namespace {

constexpr std::uint32_t kSentBlocks = 1024; // with their bytes, of those that no legal tree has

// Hashes as JudgeRequest::known_blocks has them.
std::vector<std::uint64_t> hashes_of(const std::string &known)
{
    std::vector<std::uint64_t> hashes(known.size() / sizeof(std::uint64_t));
    std::memcpy(hashes.data(), known.data(), hashes.size() * sizeof(std::uint64_t));
    return hashes;
}

std::string merged(const std::string &a, const std::string &b)
{
    if (a.empty())
        return b;
    const std::vector<std::uint64_t> ours = hashes_of(a);
    const std::vector<std::uint64_t> theirs = hashes_of(b);
    std::vector<std::uint64_t> all;
    std::set_union(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(all));
    return {reinterpret_cast<const char *>(all.data()), all.size() * sizeof(std::uint64_t)};
}

} // namespace

TreeOracle::TreeOracle(const std::string &name, const JudgeSettings &settings, LegalTrees legal)
    : Oracle(name, agent::JudgeStep::dump), legal_(std::move(legal)),
      promise_(run::choose_promise(settings.inputs.mount->request.fstype,
                                   settings.inputs.mount->request.options,
                                   settings.inputs.test.promise))
{
}

void TreeOracle::ask(agent::JudgeRequest &request) const
{
    request.dump = true;
    request.limits.blocks = kSentBlocks;
    request.known_blocks = merged(request.known_blocks, legal_.history().known_blocks());
}

void TreeOracle::judge(const Hearing &hearing, Judgement &judgement) const
{
    if (!hearing.request.dump)
        return;
    const OperationSpan span = legal_.span_at(hearing.question.crash_seq);
    const TreeVerdict verdict =
        judge_tree(hearing.reply.tree, legal_.history(), span, promise_.promise);
    if (!verdict.legal || verdict.undecided)
        object(hearing.question,
               tree_evidence(name(), verdict, hearing.reply.tree, legal_, span, promise_),
               judgement);
}

std::optional<std::uint64_t> TreeOracle::expectation(std::uint64_t crash_seq) const
{
    const OperationSpan span = legal_.span_at(crash_seq);
    // Where only syncs make durable, a return of anything else promises nothing.
    const std::size_t returned = promise_.promise.durable == run::Durability::after_sync
                                     ? legal_.last_sync(span.returned)
                                     : span.returned;
    return std::uint64_t(returned) << 32 | span.begun;
}

LegalTrees observe_legal_trees(const JudgeSettings &settings, const std::string &file_system)
{
    const trace::TraceReader reader(settings.run.trace());
    if (const std::string why = why_no_legal_trees(reader, settings.inputs); !why.empty())
        throw NoLegalTrees(why);
    return find_legal_trees(reader, settings.inputs, settings.observe(file_system),
                            settings.progress);
}

} // namespace fencepost::oracle
