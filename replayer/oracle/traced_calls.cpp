// SPDX-License-Identifier: GPL-2.0-or-later
// See traced_calls.h.
#include "replayer/oracle/traced_calls.h"

#include <map>
#include <tuple>

#include <fmt/core.h>

namespace fencepost::oracle {

using trace::MarkerKind;
using trace::MarkerRow;

namespace {

bool returns_a_number(std::int32_t call)
{
    return call == SYS_open || call == SYS_openat || call == SYS_creat || call == SYS_mmap;
}

bool writes(std::int32_t call)
{
    const agent::ObservedCall *known = agent::find_observed_call(call);
    return known && known->write;
}

// Of the child.
bool is_fork(const MarkerRow &row)
{
    return row.kind == MarkerKind::note && row.marker.text == "fork";
}

// "pwrite a (3, 4096, 0) by process 1"
std::string caller_text(const trace::Marker &call, const agent::CallSignature &caller)
{
    std::string numbers;
    for (const std::uint32_t number : caller.numbers)
        numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
    return fmt::format("{} ({}) by process {}", call_text(call, caller.paths), numbers,
                       caller.process);
}

// A trace does not tell threads apart. What a write does depends on nothing else that it does not
// say either, so it matters only where threads write alike.
void refuse_writes_alike(const History &history)
{
    std::map<std::tuple<std::uint32_t, std::int32_t, std::uint64_t, std::vector<std::uint32_t>>,
             std::uint32_t>
        threads;
    for (const TreeState &state : history.states) {
        if (!writes(state.call) || state.signature.process == 0)
            continue;
        std::vector<std::uint32_t> place = state.signature.numbers;
        if (!place.empty())
            place.erase(place.begin()); // the descriptor: the file is known
        const auto known = threads.try_emplace(
            {state.signature.process, state.call, state.inode, place}, state.signature.thread);
        if (known.first->second != state.signature.thread)
            throw NoLegalTrees(
                "threads of the workload write to the same file in the same way, and "
                "a recording does not tell which of them was first");
    }
}

class CallReader {
public:
    CallReader(const History &history, bool marked) : history_(history), marked_(marked)
    {
        refuse_writes_alike(history);
        for (std::size_t i = 0; i < history.states.size(); ++i) {
            const TreeState &state = history.states[i];
            if (state.call_ordinal != 0)
                states_[state.call_ordinal] = i;
            else if (state.moment == agent::Moment::end && state.operation != 0)
                ends_[state.operation] = i;
        }
    }

    void see(const MarkerRow &row)
    {
        if (marked_ && row.kind == MarkerKind::op_begin)
            command_ = row.marker.text;
        if (marked_ && row.kind == MarkerKind::op_end)
            end_command(row);
        if (!processes_.see(row))
            return;
        if (row.kind == MarkerKind::process_start || is_fork(row))
            numbers_.erase(
                row.marker.process); // another one, in page tables that were there before
        if (!agent::find_observed_call(static_cast<long>(row.marker.number)))
            return;
        if (row.kind == MarkerKind::syscall_enter)
            entered_[call_key(row)] = {row.seq, row.marker.text, row.marker.arguments};
        else if (row.kind == MarkerKind::syscall_exit)
            leave(row);
    }

    std::vector<TracedOperation> finish()
    {
        if (!states_.empty() && states_.rbegin()->first > ordinal_)
            throw NoLegalTrees(
                "the recording has fewer system calls than the workload makes when it is observed");
        return std::move(operations_);
    }

private:
    struct Entry {
        std::uint64_t seq = 0;
        std::string paths;
        std::vector<std::uint64_t> arguments;
    };

    // What the command did without a call that is looked at is there by now.
    void end_command(const MarkerRow &row)
    {
        const auto end = ends_.find(static_cast<std::uint32_t>(row.marker.number));
        if (end != ends_.end())
            operations_.push_back({row.seq, row.seq, end->second, command_});
    }

    void leave(const MarkerRow &row)
    {
        const auto entered = entered_.extract(call_key(row));
        Entry entry = entered ? std::move(entered.mapped()) : Entry{};
        if (entry.paths.empty())
            entry.paths = row.marker.text; // it could not be read before
        const agent::CallSignature caller = caller_of(row, entry);
        const auto found = states_.find(++ordinal_);
        if (found == states_.end())
            return;
        const TreeState &state = history_.states[found->second];
        // Numbers of descriptors and addresses of maps say nothing.
        const bool same = state.call == static_cast<std::int32_t>(row.marker.number) &&
                          (returns_a_number(state.call) ? row.marker.result >= 0
                                                        : state.result == row.marker.result);
        if (!same)
            throw NoLegalTrees(fmt::format(
                "it does not make the same system calls each time: call {} is number "
                "{} with result {} in the recording, and {} with {} when it was observed",
                ordinal_, row.marker.number, row.marker.result, state.call, state.result));
        if (!is_same_caller(found->second, caller))
            throw NoLegalTrees(fmt::format("its threads or processes take turns in another way "
                                           "each time: call {} is {} in the recording, and {} when "
                                           "it was observed",
                                           ordinal_, caller_text(row.marker, caller),
                                           caller_text(row.marker, state.signature)));
        operations_.push_back(
            {entry.seq, row.seq, found->second, text_of(row, found->second, entry.paths)});
    }

    // But for the thread, which the trace does not know.
    agent::CallSignature caller_of(const MarkerRow &row, const Entry &entry)
    {
        agent::CallSignature caller;
        std::uint32_t &process = numbers_[row.marker.process];
        if (process == 0)
            process = ++process_count_;
        caller.process = process;
        caller.paths = entry.paths;
        if (entry.arguments.size() >= trace::kSystemCallArguments)
            for (const int index :
                 agent::find_observed_call(static_cast<long>(row.marker.number))->numbers)
                caller.numbers.push_back(
                    static_cast<std::uint32_t>(entry.arguments[static_cast<std::size_t>(index)]));
        return caller;
    }

    // What leaves the tree alone may go by other names.
    bool is_same_caller(std::size_t at, const agent::CallSignature &caller) const
    {
        const TreeState &state = history_.states[at];
        const agent::CallSignature &seen = state.signature;
        const bool changed = at > 0 && state.tree != history_.states[at - 1].tree;
        const bool named = !caller.paths.empty() && !seen.paths.empty();
        return seen.process == 0 || (caller.process == seen.process &&
                                     (caller.numbers.empty() || caller.numbers == seen.numbers) &&
                                     (!changed || !named || caller.paths == seen.paths));
    }

    std::string text_of(const MarkerRow &row, std::size_t at, std::string paths) const
    {
        const TreeState &state = history_.states[at];
        if (const agent::TreeEntry *entry =
                paths.empty() ? history_.tree_at(at).by_inode(state.inode) : nullptr)
            paths = entry->path;
        std::string text = call_text(row.marker, paths);
        if (writes(state.call))
            text += fmt::format(" ({} bytes)", row.marker.result);
        return marked_ && !command_.empty() ? fmt::format("{} (in: {})", text, command_) : text;
    }

    const History &history_;
    bool marked_;
    TracedProcesses processes_;
    std::map<std::uint32_t, std::size_t> states_; // by ordinal of the call
    std::map<std::uint32_t, std::size_t> ends_;   // by command
    std::map<CallKey, Entry> entered_;
    std::map<std::uint64_t, std::uint32_t> numbers_; // of processes, as CallSignature has them
    std::uint32_t process_count_ = 0;
    std::uint32_t ordinal_ = 0;
    std::string command_;
    std::vector<TracedOperation> operations_;
};

} // namespace

bool TracedProcesses::see(const MarkerRow &row)
{
    if (row.kind == MarkerKind::process_start) {
        started_ = true;
        processes_.insert(row.marker.process);
    } else if (started_ && is_fork(row) && !row.marker.arguments.empty() &&
               processes_.contains(row.marker.arguments[0])) {
        processes_.insert(row.marker.process);
    }
    return started_ && processes_.contains(row.marker.process);
}

std::string call_text(const trace::Marker &call, const std::string &paths)
{
    const agent::ObservedCall *known = agent::find_observed_call(static_cast<long>(call.number));
    std::string text = known ? known->name : fmt::format("system call {}", call.number);
    return paths.empty() ? text : text + " " + paths;
}

std::vector<TracedOperation> traced_calls(const trace::TraceReader &reader, const History &history,
                                          bool marked)
{
    CallReader calls(history, marked);
    reader.for_each_marker([&](const MarkerRow &row) { calls.see(row); });
    return calls.finish();
}

} // namespace fencepost::oracle
