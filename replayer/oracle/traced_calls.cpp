// SPDX-License-Identifier: GPL-2.0-or-later
// See traced_calls.h.
#include "replayer/oracle/traced_calls.h"

#include <map>

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

class CallReader {
public:
    CallReader(const History &history, bool marked) : history_(history), marked_(marked)
    {
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
        if (!agent::find_observed_call(static_cast<long>(row.marker.number)))
            return;
        if (row.kind == MarkerKind::syscall_enter)
            entered_[call_key(row)] = {row.seq, row.marker.text};
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
        const Entry entry = entered ? entered.mapped() : Entry{};
        operations_.push_back(
            {entry.seq, row.seq, found->second, text_of(row, found->second, entry.paths)});
    }

    std::string text_of(const MarkerRow &row, std::size_t at, std::string paths) const
    {
        const TreeState &state = history_.states[at];
        if (paths.empty())
            paths = row.marker.text; // it could not be read before
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
    } else if (started_ && row.kind == MarkerKind::note && row.marker.text == "fork" &&
               !row.marker.arguments.empty() && processes_.contains(row.marker.arguments[0])) {
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
