// SPDX-License-Identifier: GPL-2.0-or-later
// See semantic.h.
#include "replayer/oracle/semantic.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "base/error.h"

namespace fencepost::oracle {

using agent::Durable;
using agent::kTreeBlock;
using agent::TreeEntry;

namespace {

constexpr std::size_t kProblemLimit = 8;

// The last state up to `upto` whose tree `changed` says differs from the one before it.
template <typename Changed>
std::size_t last_change(const History &history, std::size_t upto, Changed changed)
{
    for (std::size_t i = upto; i > 0; --i)
        if (history.states[i].tree != history.states[i - 1].tree && changed(i))
            return i;
    return 0;
}

// The state gave a name to a file that had none but was there: O_TMPFILE.
bool is_link(const State &state)
{
    return state.call == SYS_link || state.call == SYS_linkat;
}

// What fdatasync cares for. Not that a file lost its last name or got its first one: its data is
// there all the same for those who have it open.
bool data_changed(const History &history, std::size_t state, std::uint64_t inode)
{
    const TreeEntry *older = history.tree_at(state - 1).by_inode(inode);
    const TreeEntry *newer = history.tree_at(state).by_inode(inode);
    if (!newer)
        return false;
    if (!older)
        return !is_link(history.states[state]);
    return older->size != newer->size || older->holes != newer->holes;
}

// What a block of a file was, and the last state in which it was that.
struct Version {
    std::uint64_t hash = 0;
    std::size_t last = 0;
};

// Bytes of a block, `from` the first to before the last, that a state made durable for themselves.
struct SyncedPart {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t state = 0;
};

int weight(const std::string &kind)
{
    return kind.starts_with("cannot ") || kind == "twice" ? 3
           : kind == "missing"                            ? 2
           : kind == "unexpected"                         ? 1
                                                          : 0;
}

// One tree against one state.
class Comparison {
public:
    Comparison(const agent::TreeDump &dump, const Tree &tree, const History &history,
               const Window &window, const SemanticRules &rules, std::size_t state)
        : dump_(dump), tree_(tree), history_(history), window_(window), rules_(rules),
          state_(state), legal_(history.tree_at(state))
    {
    }

    std::vector<TreeProblem> run();
    bool undecided() const { return undecided_; }

private:
    void add(const std::string &kind, const std::string &path, const std::string &detail)
    {
        problems_.push_back({kind, path, detail});
    }
    bool masked(const std::string &path, const std::string &field) const
    {
        return history_.masks.contains({path, field});
    }
    void compare_entry(const TreeEntry &found, const TreeEntry &legal);
    void compare_links();
    void compare_bytes(const TreeEntry &found, const TreeEntry &legal);
    void compare_block(const TreeEntry &found, std::size_t block,
                       const std::vector<Version> &versions, const std::vector<SyncedPart> &synced);
    bool size_is_legal(const TreeEntry &found, const TreeEntry &legal) const;
    // The states whose bytes a file may have: from where they were made durable, or it came into
    // being. No block: all of them.
    std::size_t oldest_bytes(std::uint64_t inode, std::optional<std::size_t> block,
                             std::size_t newest) const;
    std::size_t newest_bytes(std::uint64_t inode) const;
    // Its bytes were made durable before `linked` gave it a name, and not changed in between.
    bool synced_unnamed(std::uint64_t inode, std::size_t linked) const;
    // Parts of a block that were made durable after all of it was, in `oldest`.
    std::vector<SyncedPart> synced_parts(std::uint64_t inode, std::size_t block, std::size_t oldest,
                                         std::size_t newest) const;
    // It was written to after it had lost its last name, where no dump shows it.
    bool written_unseen(std::uint64_t inode) const;
    // Under sync semantics: stores to a map are no operations of the file system, so they are
    // durable only once somebody made them so.
    std::size_t before_stores(std::uint64_t inode, std::size_t block) const;
    static bool makes_durable(const State &state, std::uint64_t inode,
                              std::optional<std::size_t> block);
    const Block *bytes_of(std::uint64_t hash) const;

    const agent::TreeDump &dump_;
    const Tree &tree_;
    const History &history_;
    const Window &window_;
    const SemanticRules &rules_;
    std::size_t state_;
    const Tree &legal_;
    std::vector<TreeProblem> problems_;
    bool undecided_ = false;
};

bool Comparison::makes_durable(const State &state, std::uint64_t inode,
                               std::optional<std::size_t> block)
{
    if (state.durable == Durable::all)
        return true;
    if (state.durable == Durable::nothing || state.inode != inode)
        return false;
    const std::uint64_t first = std::uint64_t(block.value_or(0)) * kTreeBlock;
    return state.range.length == 0 ||
           (block && state.range.offset <= first &&
            first + kTreeBlock <= state.range.offset + state.range.length);
}

std::size_t Comparison::before_stores(std::uint64_t inode, std::size_t block) const
{
    std::size_t oldest = state_;
    for (std::size_t i = state_; i > 0; --i) {
        const State &state = history_.states[i];
        if (i <= window_.returned && makes_durable(state, inode, block))
            break;
        if (state.store && state.inode == inode)
            oldest = i - 1;
    }
    return oldest;
}

std::size_t Comparison::oldest_bytes(std::uint64_t inode, std::optional<std::size_t> block,
                                     std::size_t newest) const
{
    std::size_t oldest = 0;
    // Which bytes were synced after the file had lost its last name is not known.
    for (std::size_t i = std::min(window_.returned, newest) + 1; i-- > 0 && oldest == 0;)
        if (makes_durable(history_.states[i], inode, block))
            oldest = i;
    // Before it came into being, its number may have been another file's; then it had no bytes.
    for (std::size_t i = state_; i > oldest; --i)
        if (!history_.tree_at(i - 1).by_inode(inode))
            return synced_unnamed(inode, i) ? i : i - 1;
    return oldest;
}

bool Comparison::synced_unnamed(std::uint64_t inode, std::size_t linked) const
{
    if (!is_link(history_.states[linked]))
        return false;
    for (std::size_t i = linked; i-- > 0 && !history_.tree_at(i).by_inode(inode);) {
        const State &state = history_.states[i];
        if (state.durable == Durable::all || state.inode == inode)
            return state.durable != Durable::nothing && state.range.length == 0 &&
                   i <= window_.returned;
    }
    return false;
}

std::vector<SyncedPart> Comparison::synced_parts(std::uint64_t inode, std::size_t block,
                                                 std::size_t oldest, std::size_t newest) const
{
    std::vector<SyncedPart> parts;
    const std::uint64_t first = std::uint64_t(block) * kTreeBlock;
    for (std::size_t i = oldest + 1; i <= std::min(window_.returned, newest); ++i) {
        const State &state = history_.states[i];
        const std::uint64_t from = std::max(first, state.range.offset);
        const std::uint64_t to =
            std::min(first + kTreeBlock, state.range.offset + state.range.length);
        if (state.durable != Durable::nothing && state.inode == inode && from < to)
            parts.push_back({from - first, to - first, i});
    }
    return parts;
}

std::size_t Comparison::newest_bytes(std::uint64_t inode) const
{
    for (std::size_t i = state_; i < window_.begun; ++i)
        if (!history_.tree_at(i + 1).by_inode(inode))
            return i;
    return window_.begun;
}

bool Comparison::written_unseen(std::uint64_t inode) const
{
    for (std::size_t i = newest_bytes(inode) + 1; i <= window_.begun; ++i) {
        if (history_.tree_at(i).by_inode(inode))
            return false; // its number is another file's
        const State &state = history_.states[i];
        if (state.inode == inode && (state.durable == Durable::nothing || state.range.length != 0))
            return true;
    }
    return false;
}

bool Comparison::size_is_legal(const TreeEntry &found, const TreeEntry &legal) const
{
    if (found.size == legal.size)
        return true;
    if (!rules_.sizes_lag)
        return false;
    const std::size_t newest = newest_bytes(legal.inode);
    const std::size_t oldest = oldest_bytes(legal.inode, std::nullopt, newest);
    // A sync of a range makes the size durable as far as the range went.
    std::uint64_t synced = 0;
    for (std::size_t i = newest + 1; i-- > oldest;) {
        const TreeEntry *version = history_.tree_at(i).by_inode(legal.inode);
        const std::uint64_t size = version ? version->size : 0;
        const State &state = history_.states[i];
        if (state.durable != Durable::nothing && state.inode == legal.inode &&
            i <= window_.returned)
            synced = std::max(synced, std::min(size, state.range.offset + state.range.length));
        if (size == found.size && size >= synced)
            return true;
    }
    return false;
}

const Block *Comparison::bytes_of(std::uint64_t hash) const
{
    for (const agent::TreeBlock &block : dump_.blocks)
        if (block.hash == hash && block.bytes.size() == kTreeBlock)
            return &block.bytes;
    return history_.block(hash);
}

void Comparison::compare_block(const TreeEntry &found, std::size_t block,
                               const std::vector<Version> &versions,
                               const std::vector<SyncedPart> &synced)
{
    const std::uint64_t hash = hash_at(found, block);
    const std::size_t last_synced = synced.empty() ? 0 : synced.back().state;
    if (std::any_of(versions.begin(), versions.end(), [&](const Version &version) {
            return version.hash == hash && version.last >= last_synced;
        }))
        return;
    const std::string where = fmt::format("block {}", block);
    if (versions.size() == 1) {
        add(hash == 0 ? "zeros" : "bytes", found.path,
            where + ": not what was made durable, or never changed, there");
        return;
    }
    const Block *bytes = bytes_of(hash);
    std::vector<const Block *> sources;
    for (const Version &version : versions)
        sources.push_back(history_.block(version.hash));
    if (!bytes || std::find(sources.begin(), sources.end(), nullptr) != sources.end()) {
        undecided_ = true;
        return;
    }
    for (std::size_t i = 0; i < kTreeBlock; ++i) {
        const char byte = (*bytes)[i];
        std::size_t durable = 0;
        for (const SyncedPart &part : synced)
            if (part.from <= i && i < part.to)
                durable = part.state;
        bool was_there = false;
        bool legal = false;
        for (std::size_t version = 0; version < versions.size() && !legal; ++version) {
            const bool same = (*sources[version])[i] == byte;
            was_there = was_there || same;
            legal = same && versions[version].last >= durable;
        }
        if (legal)
            continue;
        add(byte == 0   ? "zeros"
            : was_there ? "bytes"
                        : "garbage",
            found.path,
            fmt::format(
                "{}, byte {}: {:#04x}, which {}", where, i, static_cast<unsigned char>(byte),
                was_there ? "was there before others were made durable" : "was never there"));
        return;
    }
}

void Comparison::compare_bytes(const TreeEntry &found, const TreeEntry &legal)
{
    if (masked(found.path, "contents") || history_.mapped.contains(legal.inode))
        return;
    if (found.contents_left_out) {
        undecided_ = true;
        return;
    }
    const bool exact = rules_.semantics == Semantics::sync;
    if (!exact && written_unseen(legal.inode))
        return;
    const std::size_t newest = exact ? state_ : newest_bytes(legal.inode);
    for (std::size_t block = 0; block < block_count(found); ++block) {
        std::vector<Version> versions;
        const std::size_t oldest =
            exact ? before_stores(legal.inode, block) : oldest_bytes(legal.inode, block, newest);
        for (std::size_t i = oldest; i <= newest; ++i) {
            const TreeEntry *version = history_.tree_at(i).by_inode(legal.inode);
            const std::uint64_t hash = version ? hash_at(*version, block) : 0;
            const auto known = std::find_if(versions.begin(), versions.end(),
                                            [&](const Version &each) { return each.hash == hash; });
            if (known == versions.end())
                versions.push_back({hash, i});
            else
                known->last = i;
        }
        if (!exact && rules_.stale_bytes && versions.size() > 1)
            continue;
        const std::size_t before = problems_.size();
        compare_block(found, block, versions, synced_parts(legal.inode, block, oldest, newest));
        if (problems_.size() != before)
            return; // one problem a file
    }
}

void Comparison::compare_entry(const TreeEntry &found, const TreeEntry &legal)
{
    // An error that the workload met without a crash is no crash's.
    const bool same_error =
        found.failed_step == legal.failed_step && found.error_number == legal.error_number;
    if (!found.failed_step.empty() && !same_error && !masked(found.path, "error")) {
        add("cannot " + found.failed_step, found.path, fmt::format("errno {}", found.error_number));
        return;
    }
    for (const std::string &field : differing_fields(found, legal)) {
        if (field == "contents" || field == "error" || masked(found.path, field))
            continue;
        if (field == "size" && size_is_legal(found, legal))
            continue;
        // Where the blocks of a file are is told by its bytes; a hole that was filled with zeros,
        // or the other way round, is nobody's loss.
        if (field == "holes")
            continue;
        add(field, found.path, "not that of any legal state");
    }
    if (found.type == agent::FileType::file && legal.type == agent::FileType::file)
        compare_bytes(found, legal);
}

// Names of one file are names of one file, and of no other.
void Comparison::compare_links()
{
    std::map<std::uint64_t, std::uint64_t> to_legal;
    std::map<std::uint64_t, std::uint64_t> to_found;
    for (const auto &[path, found] : tree_.entries()) {
        const TreeEntry *legal = legal_.find(path);
        if (!legal || !found.failed_step.empty())
            continue;
        const auto there = to_legal.emplace(found.inode, legal->inode).first;
        const auto here = to_found.emplace(legal->inode, found.inode).first;
        if (there->second != legal->inode || here->second != found.inode)
            add("linked", path, "it shares its inode with another name than it should");
    }
}

std::vector<TreeProblem> Comparison::run()
{
    for (const auto &[path, legal] : legal_.entries())
        if (!tree_.find(path) && !masked(path, "name"))
            add("missing", path, "it is not there");
    for (const auto &[path, found] : tree_.entries()) {
        const TreeEntry *legal = legal_.find(path);
        if (legal)
            compare_entry(found, *legal);
        else if (!found.failed_step.empty())
            add("cannot " + found.failed_step, path, fmt::format("errno {}", found.error_number));
        else if (!masked(path, "name"))
            add("unexpected", path, "it should not be there");
    }
    for (const std::string &path : tree_.listed_twice())
        add("twice", path, "its directory lists it more than once");
    compare_links();
    // What is gone, or should be, explains most of what is odd about the rest.
    std::stable_sort(
        problems_.begin(), problems_.end(),
        [](const TreeProblem &a, const TreeProblem &b) { return weight(a.kind) > weight(b.kind); });
    return problems_;
}

} // namespace

std::size_t durable_state(const History &history, const Window &window, const SemanticRules &rules)
{
    if (rules.semantics == Semantics::sync)
        return window.returned;
    std::size_t durable = 0;
    for (std::size_t i = 0; i <= window.returned; ++i) {
        const State &state = history.states[i];
        switch (state.durable) {
        case Durable::nothing:
            break;
        case Durable::all:
            durable = std::max(durable, i);
            break;
        case Durable::file:
            durable = std::max(durable, last_change(history, i, [&](std::size_t at) {
                                   return history.tree_at(at - 1).describe_inode(state.inode) !=
                                          history.tree_at(at).describe_inode(state.inode);
                               }));
            break;
        case Durable::file_data:
            durable = std::max(durable, last_change(history, i, [&](std::size_t at) {
                                   return data_changed(history, at, state.inode);
                               }));
            break;
        }
    }
    return durable;
}

TreeVerdict judge_tree(const agent::TreeDump &dump, const History &history, const Window &window,
                       const SemanticRules &rules)
{
    CHECK(window.returned <= window.begun && window.begun < history.states.size(),
          "a window into a workload's states");
    TreeVerdict verdict;
    const Tree tree(dump.entries);
    verdict.first_state = durable_state(history, window, rules);
    verdict.last_state = window.begun;
    bool first = true;
    // From the last: of states that explain a tree equally badly the latest is most likely what was
    // meant.
    for (std::size_t i = window.begun + 1; i-- > verdict.first_state;) {
        Comparison comparison(dump, tree, history, window, rules, i);
        std::vector<TreeProblem> problems = comparison.run();
        if (problems.empty()) {
            verdict = {true,
                       comparison.undecided() || dump.truncated,
                       verdict.first_state,
                       window.begun,
                       i,
                       {}};
            return verdict;
        }
        if (first || problems.size() < verdict.problems.size()) {
            verdict.nearest = i;
            verdict.problems = std::move(problems);
        }
        first = false;
    }
    verdict.legal = false;
    if (verdict.problems.size() > kProblemLimit)
        verdict.problems.resize(kProblemLimit);
    return verdict;
}

} // namespace fencepost::oracle
